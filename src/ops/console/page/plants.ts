import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Plant } from '../../contract.ts';
import type { Api } from './api.ts';
import { type Column, ExactText, Failure, Result, Table } from './components.ts';
import { count } from './format.ts';
import { html } from './html.ts';
import { given, type PlantQuery, type PlantSearch, usePlantSearch } from './plant-search.ts';
import { replaceQuery } from './router.ts';

/** Pause in the typing after which the query counts as finished. */
const typingMs = 250;

export function Plants({ api, query }: { api: Api; query: URLSearchParams }) {
  const [typed, setTyped] = useState(() => queryFrom(query));
  const [asked, setAsked] = useState(typed);
  const search = usePlantSearch(api, asked);
  useEffect(() => {
    const typing = setTimeout(() => setAsked(typed), typingMs);
    return () => clearTimeout(typing);
  }, [typed]);
  useEffect(() => replaceQuery(given(asked)), [asked]);
  // A link may change the query of the open page. A layout effect runs before anything can be typed.
  useLayoutEffect(() => {
    setTyped(queryFrom(query));
    setAsked(queryFrom(query));
  }, [query]);

  const askNow = (event: SubmitEvent) => {
    event.preventDefault();
    setAsked(typed);
  };
  const field = (name: keyof PlantQuery, label: string, isOff: boolean) => html`
    <label>${label}
      <input name=${name} value=${typed[name]} disabled=${isOff} autocomplete="off" spellcheck=${false}
        onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setTyped({ ...typed, [name]: currentTarget.value })} />
    </label>`;
  const hasId = typed.id !== '';
  return html`
    <form role="search" class="search" onSubmit=${askNow}>
      ${field('id', 'Id', false)} ${field('name', 'Name contains', hasId)} ${field('tag', 'Tag', hasId)}
      <button>Search</button>
    </form>
    <${Plantlist} search=${search} />`;
}

function queryFrom(address: URLSearchParams): PlantQuery {
  return {
    id: address.get('id') ?? '',
    name: address.get('name') ?? '',
    tag: address.get('tag') ?? '',
  };
}

const columns: readonly Column<Plant>[] = [
  { head: 'Id', cell: ({ id }) => html`<a class="mono whole-row" href="#/plants/${id}">${id}</a>` },
  { head: 'Name', cell: ({ name }) => html`<${ExactText} text=${name} isExcerpt />` },
  {
    head: 'Tag',
    cell: ({ tag }) => (tag === undefined ? '' : html`<${ExactText} text=${tag} isExcerpt />`),
  },
];

function Plantlist({ search }: { search: PlantSearch }) {
  const { plants, next, isEnd, isSearching, error, goOn, stop } = search;
  const more = error ? 'Try again' : plants.length > 0 ? 'More' : 'Go on';
  return html`
    <${Failure} error=${error} />
    ${plants.length > 0 && html`<${Table} caption="Plants" columns=${columns} rows=${plants} rowKey=${({ id }: Plant) => id} />`}
    <div class="continuation">
      <${Result}>${!isSearching && !error && summary(search)}<//>
      ${isSearching && html`<p class="progress">${next === null ? 'Searching…' : `Searched up to id ${next}…`}</p>`}
      ${isSearching && html`<button onClick=${stop}>Stop</button>`}
      ${!isSearching && (!isEnd || error) && html`<button onClick=${goOn}>${more}</button>`}
    </div>`;
}

function summary({ plants, next, isEnd }: PlantSearch): string {
  if (plants.length === 0 && isEnd) return 'No plant matches.';
  const found =
    plants.length === 1 ? '1 plant' : `${plants.length === 0 ? 'No' : count(plants.length)} plants`;
  if (isEnd) return `${found}, and no more.`;
  return next === null ? `${found} yet.` : `${found} up to id ${next}.`;
}
