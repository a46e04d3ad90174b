import { render } from 'preact';
import { App } from './app.ts';
import { html } from './html.ts';
import { keepScroll } from './scroll.ts';

keepScroll();
render(html`<${App} />`, document.body);
