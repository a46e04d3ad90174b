/** The page of every plot, with a head that names the machine. */
import { type Environment, machineText, versionsText } from './environment.ts';

export const width = 960;
export const margin = 32;
export const headHeight = 112;

interface Page {
  title: string;
  environment: Environment;
  height: number;
}

export function renderPage({ title, environment, height }: Page, content: string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    // For screen readers.
    `<title>${escaped(title)}</title>`,
    `<style>text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #1f2933 } .quiet { fill: #616e7c; font-size: 12px }`,
    `.title { font-size: 20px; font-weight: 600 } .panel { font-size: 14px; font-weight: 600 } .end { text-anchor: end }`,
    `.middle { text-anchor: middle }</style>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    renderHead(title, environment),
    ...content,
    '</svg>\n',
  ].join('\n');
}

function renderHead(title: string, environment: Environment): string {
  return [
    text(margin, 42, title, 'title'),
    text(margin, 66, machineText(environment), 'quiet'),
    text(margin, 84, versionsText(environment), 'quiet'),
  ].join('\n');
}

export function text(x: number, y: number, content: string, classes = ''): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" class="${classes}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

export function fixed(value: number): string {
  return value.toFixed(1);
}
