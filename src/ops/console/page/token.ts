import { useMemo } from 'preact/hooks';
import { problems, problemTitle } from '../../../contract/problems.ts';
import type { Token, TokenFigures, TokenList, TokenRefusals } from '../../contract.ts';
import { refusalsOfSender, type SenderRefusals } from '../../history-figures.ts';
import type { Api } from './api.ts';
import {
  type Column,
  Facts,
  Failure,
  LocalTime,
  Result,
  Skeleton,
  Table,
  When,
} from './components.ts';
import { count } from './format.ts';
import { html } from './html.ts';
import { Marked, nameOf } from './refusal.ts';
import { historyPath, refusalsOf } from './router.ts';
import { useHistory, withBegun } from './samples.ts';
import { lastUseOf } from './token-dialogs.ts';
import {
  By,
  End,
  figureOf,
  State,
  TokenActions,
  useTokenDialogs,
  useTokens,
} from './token-list.ts';
import { rateSays } from './token-rate.ts';

interface TokenDetailProps {
  readonly api: Api;
  readonly name: string;
  readonly signedInAs: string;
}

/** All that is known of a token, or of another caller. */
export function TokenDetail({ api, name, signedInAs }: TokenDetailProps) {
  const { list, error, refresh } = useTokens(api);
  const { dialog, result, open } = useTokenDialogs(api, signedInAs, list, refresh);
  const secrets = list?.tokens.filter((token) => token.name === name) ?? [];
  const [newest] = secrets.toReversed();
  const all = list && figuresOf(list, name, secrets);
  return html`
    <p><a href="#/tokens">All tokens</a></p>
    <${Failure} error=${error} />
    <${Result}>${result}<//>
    ${!list && !error && html`<${Skeleton} rows=${8} />`}
    ${list && !newest && all?.length === 0 && html`<p>No token has this name, and no request came from a sender of this name since the start of this service.</p>`}
    <div class="grid">
      ${newest && html`<section class="card"><h2>The token</h2><${Facts} facts=${factsOf(newest, secrets)} /><p><${TokenActions} token=${newest} onOpen=${open} hasRate /></p></section>`}
      ${list && all && (newest || all.length > 0) && html`<${Figures} name=${name} all=${all} since=${list.since} />`}
    </div>
    ${all && html`<${Refusals} api=${api} name=${name} all=${all} />`}
    ${secrets.length > 1 && html`<h2>Secrets</h2><div class="tokens"><${Table} caption="Secrets" columns=${secretColumns} rows=${secrets.toReversed()} rowKey=${({ createdAt }: Token) => createdAt} /></div>`}
    ${dialog}`;
}

/** Of all secrets of the name. */
function figuresOf(list: TokenList, name: string, secrets: readonly Token[]): TokenFigures[] {
  const others = list.otherCallers.filter((caller) => caller.name === name);
  return [...secrets, ...others].flatMap(({ figures }) => figures ?? []);
}

/** @param secrets all secrets of the name */
function factsOf(token: Token, secrets: readonly Token[]) {
  return [
    ['State', html`<${State} state=${token.state} />`],
    ['Role', token.role],
    ['Rate', token.rate === null ? html`<span class="quiet">any</span>` : rateSays(token)],
    ['Made', made(token)],
    [token.revokedAt === null ? 'Ends' : 'Revoked', ended(token)],
    [
      'Last used',
      html`<${When} time=${lastUseOf(secrets)} hasUtc or=${token.revokedAt === null ? 'not yet' : 'never while it was valid'} />`,
    ],
  ] as const;
}

function made({ createdAt, createdBy }: Token) {
  return html`<${When} time=${createdAt} hasUtc /> <${By} name=${createdBy} />`;
}

function ended(token: Token) {
  return html`<${End} token=${token} hasUtc /> ${token.revokedAt !== null && html`<${By} name=${token.revokedBy} />`}`;
}

interface FiguresProps {
  readonly name: string;
  readonly all: readonly TokenFigures[];
  readonly since: string;
}

function Figures({ name, all, since }: FiguresProps) {
  const sum = (figure: 'created' | 'same' | 'taken' | 'failed' | 'refused') =>
    count(all.reduce((total, figures) => total + figures[figure], 0));
  const facts = [
    ['New plants', sum('created')],
    ['Retries', sum('same')],
    ['Id taken', sum('taken')],
    ['Failed', sum('failed')],
    ['Refused', sum('refused')],
    ['Since', html`<${When} time=${since} />`],
  ];
  const query = encodeURIComponent(name);
  return html`
    <section class="card">
      <h2>Its requests to this service</h2>
      <${Facts} facts=${facts} />
      <p class="links"><a href="#/plants?createdBy=${query}">All plants of this token</a> <a href=${refusalsOf(name)}>Its refusals</a></p>
    </section>`;
}

interface Refused {
  readonly code: number;
  readonly sinceStart: TokenRefusals | undefined;
  /** Undefined while the history is not known. */
  readonly inHistory: Partial<SenderRefusals> | undefined;
}

/** By this service since its start, and by all services in the last 24 hours. */
function Refusals({ api, name, all }: { api: Api; name: string; all: readonly TokenFigures[] }) {
  const { answer: history } = useHistory(api);
  const inHistory = useMemo(() => refusalsOfSender(withBegun(history), name), [history, name]);
  const sinceStart = new Map<number, TokenRefusals>();
  for (const one of all.flatMap(({ refusals }) => refusals)) {
    const before = sinceStart.get(one.code);
    const lastAt = before && before.lastAt > one.lastAt ? before.lastAt : one.lastAt;
    sinceStart.set(one.code, { ...one, lastAt, count: one.count + (before?.count ?? 0) });
  }
  const mostFirst = [...sinceStart.values()].sort((one, other) => other.count - one.count);
  const codes = new Set([...mostFirst, ...inHistory].map(({ code }) => code));
  if (codes.size === 0) return null;
  const rows = Array.from(codes, (code): Refused => {
    const ofCode = inHistory.find((one) => one.code === code) ?? {};
    return { code, sinceStart: sinceStart.get(code), inHistory: history && ofCode };
  });
  const sum = inHistory.reduce((total, one) => total + one.count, 0);
  return html`
    <h2>Refused by code</h2>
    <p class="quiet">Since the start: by this service. Last minute (the last whole one), last hour and 24 hours: by all services${history && `, ${count(sum)} in all`}. ${sum > 0 && html`<a href=${historyPath({ token: name })}>By hour</a>`}</p>
    <div class="codes"><${Table} caption="Refused by code" columns=${refusalColumnsOf(name)} rows=${rows} rowKey=${({ code }: Refused) => `${code}`} /></div>`;
}

function refusalColumnsOf(name: string): readonly Column<Refused>[] {
  return [
    {
      head: 'Code',
      cell: ({ code }) => html`
        <a href=${refusalsOf(name, code)}>${code} ${problemTitle(code)}</a>
        <div class="quiet">${meaningOf(code)}</div>`,
    },
    historyColumn('Last minute', 'lastMinute'),
    historyColumn('Last hour', 'lastHour'),
    historyColumn('24 hours', 'count'),
    {
      head: 'Since the start',
      isNumber: true,
      cell: ({ sinceStart }) => count(sinceStart?.count ?? 0),
    },
    { head: 'First in 24 hours', isTime: true, cell: firstOf },
    {
      head: 'Last',
      isTime: true,
      cell: ({ sinceStart }) => sinceStart && html`<${When} time=${sinceStart.lastAt} />`,
    },
  ];
}

function historyColumn(head: string, span: 'lastMinute' | 'lastHour' | 'count'): Column<Refused> {
  const cell = ({ inHistory }: Refused) => inHistory && count(inHistory[span] ?? 0);
  return { head, isNumber: true, cell };
}

function firstOf({ inHistory: { firstMs } = {} }: Refused) {
  const time = firstMs !== undefined && new Date(firstMs).toISOString();
  return time && html`<${LocalTime} time=${time} isMinute />`;
}

/** When the code is used, and what the client can do. */
function meaningOf(code: number) {
  const name = nameOf(code);
  const texts = name ? [problems[name].when, problems[name].remedy] : [];
  return texts.map((text) => html`<div><${Marked} text=${text} /></div>`);
}

const secretColumns: readonly Column<Token>[] = [
  { head: 'Made', isTime: true, cell: made },
  { head: 'State', cell: ({ state }) => html`<${State} state=${state} />` },
  { head: 'Ends', isTime: true, cell: ended },
  {
    head: 'Last used',
    isTime: true,
    cell: ({ lastUsedAt }) => html`<${When} time=${lastUsedAt} or="not yet" />`,
  },
  { head: 'New plants', isNumber: true, cell: ({ figures }) => figureOf(figures, 'created') },
  { head: 'Refused', isNumber: true, cell: ({ figures }) => figureOf(figures, 'refused') },
];
