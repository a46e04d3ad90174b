import { useEffect, useRef, useState } from 'preact/hooks';
import type { PlantPage, StoredPlant } from '../../contract.ts';
import type { Ask, PageProps, Service } from './state.ts';
import { type Column, choice, ExactText, Failure, field, h, localText, table, When } from './ui.ts';

const columns: readonly Column<StoredPlant>[] = [
  { head: 'Id', cell: ({ id }) => h('a', { href: `#/plants?id=${id}` }, id) },
  { head: 'Name', kind: 'name', cell: ({ name }) => h(ExactText, { text: name }) },
  { head: 'Tag', kind: 'tag', cell: ({ tag }) => h(Tag, { tag }) },
  { head: 'Created', cell: ({ createdAt }) => h(When, { time: createdAt }) },
  { head: 'By', kind: 'client', cell: ({ createdBy }) => h(ExactText, { text: createdBy }) },
];

function Tag({ tag }: { tag: string | undefined }) {
  return tag === undefined ? h('span', { class: 'quiet' }, 'none') : h(ExactText, { text: tag });
}

/** The address has the filter, as the query of the API. */
export function Plants({ service, query }: PageProps) {
  const [searches, setSearches] = useState(0);
  const text = `${query}`;
  const searchAgain = () => setSearches(searches + 1);
  return [
    h(Filters, { key: `filters ${text}`, query, searchAgain }),
    h(Found, { key: `${searches} ${text}`, service, query }),
  ];
}

function Filters({ query, searchAgain }: { query: URLSearchParams; searchAgain: () => void }) {
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    for (const name of ['since', 'until']) {
      const local = `${form.get(name)}`;
      if (local !== '') form.set(name, new Date(local).toISOString());
    }
    const all = [...form].map(([name, value]) => [name, `${value}`.trim()]);
    const wanted = new URLSearchParams(all.filter(([, value]) => value !== ''));
    if (`${wanted}` === `${query}`) searchAgain();
    else location.hash = `#/plants?${wanted}`;
  };
  const orders = [
    { value: '', text: 'newest first' },
    { value: 'id', text: 'by id' },
  ];
  const given = (name: string) => query.get(name) ?? '';
  const text = (name: string, label: string) =>
    field(label, { name, type: 'search', defaultValue: given(name) });
  const time = (name: string, label: string) =>
    field(label, { name, type: 'datetime-local', defaultValue: inputText(given(name)) });
  return h(
    'form',
    { class: 'filters', role: 'search', onSubmit: search },
    text('name', 'Name contains'),
    text('tag', 'Tag'),
    text('createdBy', 'Created by'),
    time('since', 'Since'),
    time('until', 'Until'),
    choice('Order', orders, { name: 'order' }, given('order')),
    field('Id', { name: 'id', inputMode: 'numeric', defaultValue: given('id') }),
    h('button', { class: 'main' }, 'Search'),
  );
}

function inputText(iso: string): string {
  return Number.isNaN(Date.parse(iso))
    ? ''
    : localText(iso).slice(0, -':ss'.length).replace(' ', 'T');
}

function Found({ service, query }: { service: Service; query: URLSearchParams }) {
  const { plants, next, isSearching, error, goOn } = useSearch(service.ask, query);
  const isEmpty = plants.length === 0 && next === null && !isSearching && !error;
  return [
    plants.length > 0 &&
      table({ caption: 'Plants', columns, rows: plants, rowKey: ({ id }) => id }),
    isEmpty && h('p', { class: 'quiet' }, 'No plant matches.'),
    h(Failure, { error }),
    h(
      'p',
      { class: 'row' },
      isSearching && h('span', { role: 'status' }, 'Searching…'),
      !isSearching && next !== null && h('button', { onClick: goOn }, error ? 'Try again' : 'More'),
    ),
  ];
}

interface Search {
  readonly plants: readonly StoredPlant[];
  readonly next: string | null;
  readonly isSearching: boolean;
  readonly error?: Error | undefined;
}

const pagePlants = 50;
const begun: Search = { plants: [], next: '', isSearching: true };

/** Searches for one page of plants, in as many requests as it takes. */
function useSearch(ask: Ask, query: URLSearchParams) {
  const [search, setSearch] = useState(begun);
  const ending = useRef(new AbortController());

  async function goOn(from: Search): Promise<void> {
    const { signal } = ending.current;
    const wanted = from.plants.length + pagePlants;
    let { plants, next } = from;
    let error: Error | undefined;
    try {
      while (plants.length < wanted && next !== null) {
        setSearch({ plants, next, isSearching: true });
        const path = `/plants?${partQuery(query, next, `${wanted - plants.length}`)}`;
        const part: PlantPage = await ask('GET', path, { signal });
        plants = [...plants, ...part.plants];
        next = part.next;
      }
    } catch (fault) {
      if (!signal.aborted) error = fault as Error;
    }
    // The same question would get the same refusal.
    if (error?.cause === 400) next = null;
    setSearch({ plants, next, isSearching: false, error });
  }

  useEffect(() => {
    void goOn(begun);
    return () => ending.current.abort();
  }, []);
  return { ...search, goOn: () => void goOn(search) };
}

function partQuery(query: URLSearchParams, next: string, limit: string): URLSearchParams {
  const order = query.get('order') || 'newest';
  const part = new URLSearchParams(query);
  part.set('order', order);
  part.set('limit', limit);
  if (next !== '') part.set(order === 'newest' ? 'before' : 'after', next);
  return part;
}
