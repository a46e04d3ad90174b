import { useCallback } from 'preact/hooks';
import {
  type ProblemName,
  problemNames,
  problems,
  problemTitle,
} from '../../../contract/problems.ts';
import type { RequestRecord } from '../../contract.ts';
import { type Api, ApiError } from './api.ts';
import { ExactText, Facts, Failure, Skeleton, When } from './components.ts';
import { Copyable } from './copy.ts';
import { html } from './html.ts';
import { useAnswer } from './requests.ts';
import { historyPath, tokenPath } from './router.ts';

/** One request, for links from elsewhere. */
export function RefusalDetail({ api, requestId }: { api: Api; requestId: string }) {
  const ask = useCallback(
    (signal: AbortSignal) => api.request(requestId, signal),
    [api, requestId],
  );
  const { answer, error } = useAnswer(ask);
  const isUnknown = error instanceof ApiError && error.status === 404;
  return html`
    <p><a href="#/refusals">All refusals</a></p>
    <${Failure} error=${isUnknown ? undefined : error} />
    <div role="status">${isUnknown && html`<section class="card"><h2>This request is not remembered</h2><p>${error.message}</p><p><a href=${historyPath({})}>The history</a></p></section>`}</div>
    ${!answer && !error && html`<${Skeleton} rows=${8} />`}
    ${answer && html`<section class="card"><h2><${Outcome} request=${answer} /></h2><${RequestFacts} request=${answer} /></section>`}`;
}

/** The code, and its name in the catalogue as words: `id taken`. */
export function Outcome({ request }: { request: RequestRecord }) {
  const { code, outcome } = request;
  if (code === null) return html`<span class="badge good">${outcome}</span>`;
  const tone = outcome === 'failed' ? 'bad' : 'changed';
  return html`<span class="badge ${tone}">${code}</span> ${problemTitle(code)}`;
}

export function nameOf(code: number): ProblemName | undefined {
  return problemNames.find((name) => problems[name].code === code);
}

/** All that is known, what the code means, and what the client can do. */
export function RequestFacts({ request }: { request: RequestRecord }) {
  const { at, requestId, status, code, token, client, message, cause, method, path } = request;
  const name = code === null ? undefined : nameOf(code);
  const plantId = name === 'idTaken' && /^The id (-?\d+) /.exec(message)?.[1];
  const notKnown = html`<span class="quiet">not known</span>`;
  // The address and the line are forgotten together.
  const noLine = client === '' ? notKnown : 'malformed';
  const facts = [
    ['Message', html`<${Marked} text=${message} />`],
    ...(plantId ? [['Plant', html`<a href="#/plants/${plantId}">${plantId}</a>`]] : []),
    ...(cause === null ? [] : [['Cause', html`<${ExactText} text=${cause} />`]]),
    ...(name ? [['Meaning', html`<${Marked} text=${problems[name].when} />`]] : []),
    ...(name ? [['Remedy', html`<${Marked} text=${problems[name].remedy} />`]] : []),
    ['Time', html`<${When} time=${at} hasUtc />`],
    [
      'Token',
      token === null
        ? notKnown
        : html`<a href=${tokenPath(token)}><${ExactText} text=${token} /></a>`,
    ],
    ['Client', client === '' ? notKnown : html`<code>${client}</code>`],
    ['Request', method === null ? noLine : html`<code>${method} ${path}</code>`],
    ['Status', status],
    ['Request id', html`<${Copyable} what="the request id" text=${requestId} />`],
  ];
  return html`<${Facts} facts=${facts} />`;
}

interface MarkedProps {
  readonly text: string;
  readonly isExcerpt?: boolean;
}

/** A text of the catalogue or a message, with code between backticks. */
export function Marked({ text, isExcerpt = false }: MarkedProps) {
  const exact = (part: string) => html`<${ExactText} text=${part} isExcerpt=${isExcerpt} />`;
  const parts = text.split('`');
  // A message may quote a lone backtick.
  if (parts.length % 2 === 0) return exact(text);
  return parts.map((part, index) => {
    if (part === '') return '';
    return index % 2 === 0 ? exact(part) : html`<code>${exact(part)}</code>`;
  });
}
