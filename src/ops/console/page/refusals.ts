import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { problemNames, problems, problemTitle } from '../../../contract/problems.ts';
import { limits } from '../../../limits.ts';
import type { RequestRecord, Time, TokenList } from '../../contract.ts';
import { refusalsBySender, sendersText } from '../../history-figures.ts';
import { type Api, ApiError } from './api.ts';
import { type Column, Dialog, ExactText, Failure, Skeleton, Table } from './components.ts';
import { clockTime, count, distance, localTime, utcTime } from './format.ts';
import { html } from './html.ts';
import { Jump } from './jump.ts';
import { type RequestFilter, useLiveRequests } from './live-requests.ts';
import { Marked, Outcome, RequestFacts } from './refusal.ts';
import { useAnswer } from './requests.ts';
import { historyPath, replacePath, tokenPath } from './router.ts';
import { withBegun } from './samples.ts';
import { NoSuchToken } from './token-list.ts';
import { useTyped } from './typed.ts';

const rowsAtFirst = 100;

/** The address has the filter, so each view is a link. */
export function Refusals({ api, query }: { api: Api; query: URLSearchParams }) {
  const filter = useMemo(() => filterFrom(query), [query]);
  const [typed, change] = useTyped(filter, pathOf);
  const show = (changed: RequestFilter) => replacePath(pathOf(changed));
  const { answer: tokens } = useAnswer(api.tokens);
  const names = useMemo(() => sendersIn(tokens), [tokens]);
  return html`
    <${JumpToRequest} />
    <p class="lead">The last refusals of this service since its start, as they come: up to ${count(limits.ops.refusalsKept)} whose token has a name, and as many others. Each client has its share of the memory.</p>
    <form role="search" class="filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <label>Code
        <select name="code" value=${typed.code} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => change({ code: currentTarget.value })}>
          <option value="">all codes</option>
          ${problemNames.map((name) => problems[name].code).map((code) => html`<option value=${code}>${code} ${problemTitle(code)}</option>`)}
        </select>
      </label>
      <label>Token
        <input name="token" value=${typed.token} list="senders" autocomplete="off" spellcheck=${false}
          onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change({ token: currentTarget.value })} />
      </label>
      <datalist id="senders">${names.map((name) => html`<option value=${name}></option>`)}</datalist>
      <label class="switch"><input type="checkbox" checked=${typed.validToken === 'false'}
        onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change({ validToken: currentTarget.checked ? 'false' : '' })} />
        Only without a valid token</label>
      <label class="switch"><input type="checkbox" checked=${typed.creates === 'true'}
        onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change({ creates: currentTarget.checked ? 'true' : '' })} />
        Show accepted creates (sample)</label>
    </form>
    <${Live} key=${JSON.stringify(filter)} api=${api} filter=${filter} names=${tokens && names} onFilter=${show} />`;
}

/** Names that requests can have as their senders. */
function sendersIn(tokens: TokenList | undefined): readonly string[] {
  const all = [...(tokens?.tokens ?? []), ...(tokens?.otherCallers ?? [])];
  return [...new Set(all.map(({ name }) => name))];
}

function filterFrom(address: URLSearchParams): RequestFilter {
  return {
    code: address.get('code') ?? '',
    token: address.get('token') ?? '',
    validToken: address.get('validToken') === 'false' ? 'false' : '',
    creates: address.get('creates') === 'true' ? 'true' : '',
  };
}

function pathOf(filter: RequestFilter): string {
  const asked = Object.entries(filter).filter(([, value]) => value !== '');
  return asked.length === 0 ? '/refusals' : `/refusals?${new URLSearchParams(asked)}`;
}

/** Goes to the request with an id, as a client has it from its reply. */
function JumpToRequest() {
  return html`
    <${Jump} field="Request id" pathOf=${(id: string) => `/refusals/${encodeURIComponent(id)}`}
      faultOf=${(id: string) => id === '' && 'A request id is in the X-Request-Id header of a reply.'} />`;
}

interface LiveProps {
  readonly api: Api;
  readonly filter: RequestFilter;
  /** Of senders; undefined before they are known. */
  readonly names: readonly string[] | undefined;
  readonly onFilter: (filter: RequestFilter) => void;
}

function Live({ api, filter, names, onFilter }: LiveProps) {
  const { answer, error, isStale } = useLiveRequests(api, filter);
  const [opened, setOpened] = useState<RequestRecord | undefined>();
  const [rows, setRows] = useState(rowsAtFirst);
  const live = answer?.requests ?? [];
  const { shown, newer, isPaused, setPaused, showNewer, holders } = useHeld(live);
  if (answer === undefined)
    return error instanceof ApiError
      ? html`<${Failure} error=${error} />`
      : html`<${Skeleton} rows=${8} />`;

  const pick = (picked: Partial<RequestFilter>) => {
    setOpened(undefined);
    onFilter({ ...filter, ...picked });
  };
  return html`
    <${Failure} error=${error instanceof ApiError ? error : undefined} />
    <div class="continuation">
      <button aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Resume' : 'Pause'}</button>
      ${newer > 0 && html`<button class="main" onClick=${showNewer}>${count(newer)} new</button>`}
      <span class="quiet">${isStale ? 'The service does not answer.' : stateOf(isPaused, shown.length, newer)}</span>
    </div>
    ${answer.missed > 0 && html`<p class="note">${missedText(answer.missed)}</p>`}
    ${shown.length === 0 && html`<${Nothing} api=${api} filter=${filter} names=${names} onFilter=${onFilter} />`}
    ${filter.validToken === 'false' && shown.length > 0 && html`<p>By client: ${clientsText(shown)}</p>`}
    ${
      shown.length > 0 &&
      html`<div class="requests" ...${holders}>
        <${Table} caption="Refusals" columns=${columnsWith(setOpened)} rows=${shown.slice(0, rows)} rowKey=${({ requestId }: RequestRecord) => requestId} />
      </div>`
    }
    ${shown.length > rows && html`<div class="continuation"><button onClick=${() => setRows(rows + rowsAtFirst)}>More</button></div>`}
    ${opened && html`<${Details} request=${opened} onPick=${pick} onClose=${() => setOpened(undefined)} />`}`;
}

/**
 * Holds the rows while the operator has paused them, or points at them, or has the focus in them:
 * what somebody is about to press must not move.
 */
function useHeld(live: readonly RequestRecord[]) {
  const [isPaused, setPaused] = useState(false);
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const [held, setHeld] = useState(live);
  const isHeld = (isPaused || isPointed || isFocused) && held.length > 0;
  const shown = isHeld ? held : live;
  useEffect(() => {
    if (!isHeld) setHeld(live);
  }, [live, isHeld]);

  const known = live.findIndex(({ requestId }) => requestId === shown[0]?.requestId);
  const newer = !isHeld ? 0 : known < 0 ? live.length : known;
  const leave = ({ currentTarget, relatedTarget }: FocusEvent) => {
    const isInside = (currentTarget as Element).contains(relatedTarget as Element | null);
    if (!isInside) setFocused(false);
  };
  const holders = {
    onPointerEnter: () => setPointed(true),
    onPointerLeave: () => setPointed(false),
    onFocusIn: () => setFocused(true),
    onFocusOut: leave,
  };
  return { shown, newer, isPaused, setPaused, showNewer: () => setHeld(live), holders };
}

function stateOf(isPaused: boolean, shown: number, newer: number): string {
  if (isPaused) return 'Paused.';
  if (newer > 0) return 'Waits while the pointer or the focus is in the table.';
  return shown === 0 ? 'Live.' : `Live: ${shown === 1 ? '1 request' : `${count(shown)} requests`}.`;
}

function missedText(missed: number): string {
  const those = missed === 1 ? '1 refusal is' : `${count(missed)} refusals are`;
  return `${those} not shown: they came faster than the service remembers.`;
}

/** Most first: `203.0.113.7: 212, 127.0.0.1: 3`. */
function clientsText(requests: readonly RequestRecord[]): string {
  const byClient = Map.groupBy(requests, ({ client }) => client || 'not known');
  const counts = Array.from(byClient, ([name, of]) => ({ name, count: of.length }));
  return sendersText(counts.toSorted((one, other) => other.count - one.count));
}

function Nothing({ api, filter, names, onFilter }: LiveProps) {
  const isFiltered = [filter.code, filter.token, filter.validToken].some((value) => value !== '');
  return html`
    <section class="card empty">
      <h2>${isFiltered ? 'No remembered refusal matches' : 'Nothing was refused since the start'}</h2>
      ${filter.validToken === '' && html`<${Forgotten} api=${api} filter=${filter} />`}
      <p>A request that the service refuses appears here within two seconds, with its code, token, client and message. A restart of the service forgets all refusals.</p>
      <${NoSuchToken} name=${filter.token} names=${names} onChoose=${(token: string) => onFilter({ ...filter, token })} />
      ${isFiltered && html`<p><button onClick=${() => onFilter({ ...filter, code: '', token: '', validToken: '' })}>Show all refusals</button></p>`}
    </section>`;
}

interface ForgottenProps {
  readonly api: Api;
  readonly filter: RequestFilter;
}

/** How many there were before the start, or that the memory had no room for. */
function Forgotten({ api, filter: { code, token } }: ForgottenProps) {
  const ask = useCallback((signal: AbortSignal) => api.history(0, signal), [api]);
  const { answer } = useAnswer(ask);
  const refused = refusalsBySender(withBegun(answer))
    .filter((one) => code === '' || `${one.code}` === code)
    .filter((one) => token === '' || one.name === token)
    .reduce((sum, one) => sum + one.count, 0);
  if (refused === 0) return null;
  const requests = refused === 1 ? '1 request' : `${count(refused)} requests`;
  const of = token && html` of <${ExactText} text=${token} isExcerpt />`;
  return html`
    <p>In the last 24 hours, ${requests}${of} ${refused === 1 ? 'was' : 'were'} refused${code && ` with ${code}`}. This service does not remember the single requests any more.
      <a href=${historyPath({ code, token })}>When, and of which client</a></p>`;
}

function columnsWith(onOpen: (request: RequestRecord) => void): readonly Column<RequestRecord>[] {
  return [
    {
      head: 'What',
      cell: (request) =>
        html`<button class="opens" aria-haspopup="dialog" onClick=${() => onOpen(request)}><${Outcome} request=${request} /></button>`,
    },
    { head: 'Time', isTime: true, cell: ({ at }) => html`<${TimeOfDay} time=${at} />` },
    {
      head: 'Token',
      cell: ({ token }) =>
        token === null
          ? html`<span class="quiet">not known</span>`
          : html`<a class="own" href=${tokenPath(token)}><${ExactText} text=${token} isExcerpt /></a>`,
    },
    { head: 'Client', cell: ({ client }) => html`<code>${client}</code>` },
    { head: 'Message', cell: (request) => html`<${Says} request=${request} />` },
    {
      head: 'Request id',
      cell: ({ requestId }) => html`<code>${requestId}</code>`,
    },
  ];
}

/** With the request id where there is no room for its column. */
function Says({ request: { message, cause, requestId } }: { request: RequestRecord }) {
  return html`<${Marked} text=${message} isExcerpt />
    ${cause !== null && html`<br /><span class="quiet">Cause: <${ExactText} text=${cause} isExcerpt /></span>`}
    <span class="on-tablet quiet">Request id <code>${requestId}</code></span>`;
}

/** Most refusals are of the last minutes. The title has the day and the zone. */
function TimeOfDay({ time }: { time: Time }) {
  const title = `${localTime(time)}, ${utcTime(time)}`;
  return html`<time datetime=${time} title=${title}><span class="moment">${clockTime(Date.parse(time))}</span> <span class="quiet">${distance(time)}</span></time>`;
}

interface DetailsProps {
  readonly request: RequestRecord;
  readonly onPick: (picked: Partial<RequestFilter>) => void;
  readonly onClose: () => void;
}

function Details({ request, onPick, onClose }: DetailsProps) {
  const { code, token, requestId } = request;
  return html`
    <${Dialog} title=${code === null ? 'Accepted create' : `${code} ${problemTitle(code)}`} onClose=${onClose}>
      <${RequestFacts} request=${request} />
      <p><a href="#/refusals/${requestId}">A link to this request</a></p>
      <p class="actions">
        ${token !== null && html`<button onClick=${() => onPick({ token, validToken: '' })}>Only this token</button>`}
        ${code !== null && html`<button onClick=${() => onPick({ code: `${code}` })}>Only this code</button>`}
        <button class="main" onClick=${onClose}>Close</button>
      </p>
    <//>`;
}
