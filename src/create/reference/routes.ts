import { type Exchange, type Handle, sendReply } from '../../http/exchange.ts';
import type { RequestHead } from '../../http/request-head.ts';
import { readAsset } from '../../program.ts';
import { referenceHtml } from './html.ts';

/** The reference page and its files, by path. The page keeps a token in memory only. */
export function referenceRoutes(basePath: string, bodyBytesMax: number) {
  const path = `${basePath}/docs`;
  const file = (name: string) => () => readAsset(`reference/${name}`);
  return {
    [path]: getAndHead('text/html', () => Buffer.from(referenceHtml(basePath, bodyBytesMax))),
    [`${path}/theme.css`]: getAndHead('text/css', file('theme.css')),
    [`${path}/style.css`]: getAndHead('text/css', file('style.css')),
    [`${path}/page.ts`]: getAndHead('text/javascript', file('page.ts')),
    [`${path}/curl.ts`]: getAndHead('text/javascript', file('curl.ts')),
  };
}

/** The page runs scripts of the service and calls the service. Its icon is empty. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

const lines =
  `Content-Security-Policy: ${policy.join('; ')}\r\nX-Content-Type-Options: nosniff\r\n` +
  'Referrer-Policy: no-referrer\r\nCache-Control: no-cache\r\n';

function getAndHead(type: string, make: () => Buffer): Record<string, Handle> {
  let content: Buffer | undefined;
  const handle: Handle = (exchange) => {
    content ??= make();
    sendReply(exchange, 200, `Content-Type: ${type}; charset=utf-8\r\n${lines}`, content);
  };
  return { GET: handle, HEAD: handle };
}

const htmlAccepted = /(?:^|[,\s])text\/html\s*(?:;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|,|$)/i;

/** Whether a browser wants to show what is here. Programs accept anything, or JSON. */
export function asksForHtml({ method, fields }: RequestHead): boolean {
  return ['GET', 'HEAD'].includes(method) && htmlAccepted.test(fields.get('accept')?.join() ?? '');
}

export function sendToPage(exchange: Exchange, basePath: string): void {
  const lines = `Location: ${basePath}/docs\r\nVary: Accept\r\n`;
  sendReply(exchange, 302, lines, '');
}
