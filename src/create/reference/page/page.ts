import { curlCommand } from './curl.ts';

/* The reference page: the sample follows the form, and the form sends creates. */

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const input = (id: string) => element<HTMLInputElement>(id);
const address = new URL('plants', document.baseURI).href;

/** The body as text: a number of JavaScript would round the id. */
function bodyOf(id: string, name: string, tag: string | undefined): string {
  const rest = JSON.stringify(tag === undefined ? { name } : { name, tag });
  return `{"id":${id},${rest.slice(1)}`;
}

function typed() {
  const [id, name] = [plainDigits(input('id').value.trim()), input('name').value];
  const tag = input('tag-sent').checked ? input('tag').value : undefined;
  const token = (input('token-shown').checked && input('token').value.trim()) || 'TOKEN';
  return { address, token, body: bodyOf(id, name, tag) };
}

/** JSON has no leading zeros. Any other text is sent as it is, to see the refusal. */
function plainDigits(text: string): string {
  return /^-?\d{1,40}$/.test(text) ? `${BigInt(text)}` : text;
}

function follow(): void {
  element('curl').textContent = curlCommand(typed());
  input('tag').disabled = !input('tag-sent').checked;
  input('token').type = input('token-shown').checked ? 'text' : 'password';
}

async function send(): Promise<void> {
  const token = input('token').value.trim();
  const headers = new Headers({ 'Content-Type': 'application/json' });
  const began = performance.now();
  element('reply-shown').replaceChildren();
  let isSent = false;
  try {
    // Throws for a character that no header field has.
    if (token !== '') headers.set('Authorization', `Bearer ${token}`);
    isSent = true;
    const reply = await fetch(address, { method: 'POST', headers, body: typed().body });
    show(reply, await reply.text(), performance.now() - began);
  } catch (error) {
    const says = isSent
      ? `No reply (${error}). The plant may be stored. A retry is safe.`
      : `Nothing was sent (${error}).`;
    showReply(node('p', 'note bad', says));
  }
}

const shownFields = ['Plant-Id', 'X-Request-Id', 'Retry-After', 'RateLimit', 'WWW-Authenticate'];

function show({ status, statusText, headers }: Response, body: string, ms: number): void {
  const line = node('p', 'status');
  const badge = node('span', `badge ${status === 200 ? 'good' : 'bad'}`, `${status} ${statusText}`);
  line.append(badge, ` after ${ms.toFixed(0)} ms`);
  const fields = shownFields.filter((name) => headers.has(name));
  const lines = fields.map((name) => `${name}: ${headers.get(name)}`);
  const text = node('pre', '', `${[...lines, ''].join('\n')}\n${body}`);
  text.tabIndex = 0;
  showReply(line, text, ...remedyFor(body));
}

function showReply(...nodes: Node[]): void {
  element('reply-shown').replaceChildren(...nodes);
  element('reply-shown').scrollIntoView({ block: 'nearest' });
}

function remedyFor(body: string): Node[] {
  const code = /^\{"error":(\d+)/.exec(body)?.[1];
  const remedy = document.querySelector(`#error-${code} [data-remedy]`);
  if (!remedy) return [];
  const note = node('p', 'note');
  const link = node('a', '', `${code}`);
  link.setAttribute('href', `#error-${code}`);
  note.append(link, ': ', ...[...remedy.childNodes].map((child) => child.cloneNode(true)));
  return [note];
}

function node(name: string, className: string, text = ''): HTMLElement {
  const made = document.createElement(name);
  if (className !== '') made.className = className;
  made.textContent = text;
  return made;
}

/** Only a page with TLS, or of this machine, has a clipboard. The selection can be copied anywhere. */
function copy(): void {
  getSelection()?.selectAllChildren(element('curl'));
  const says = (text: string) => () => {
    element('copied').textContent = text;
  };
  const copying = navigator.clipboard?.writeText(`${element('curl').textContent}`);
  (copying ?? Promise.reject()).then(says('Copied.'), says('Selected: press Ctrl+C.'));
}

element('address').textContent = address;
element('copy').addEventListener('click', copy);
element('copy').parentElement?.removeAttribute('hidden');
element('create').addEventListener('input', follow);
element('create').addEventListener('submit', (event) => {
  event.preventDefault();
  void send();
});
follow();
