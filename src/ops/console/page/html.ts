import htm from 'htm';
import { type ComponentChildren, h, type VNode } from 'preact';

/** Elements and components, written as HTML. Values are text, never markup. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

export type Children = ComponentChildren;
