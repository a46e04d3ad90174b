import { useEffect, useState } from 'preact/hooks';
import type { Api, PlantId, StoredPlant } from './api.ts';
import { html } from './html.ts';
import { ExactText, Facts, Failure, When } from './parts.ts';

/** Everything that is known of one plant. */
export function PlantDetail({ api, id }: { api: Api; id: PlantId }) {
  const [plant, setPlant] = useState<StoredPlant | undefined>();
  const [error, setError] = useState<Error | undefined>();
  useEffect(() => {
    const stop = new AbortController();
    api
      .plant(id, stop.signal)
      .then(setPlant, (failure: Error) => stop.signal.aborted || setError(failure));
    return () => stop.abort();
  }, [api, id]);
  return html`
    <p><a href="#/plants">All plants</a></p>
    <${Failure} error=${error} />
    ${plant && html`<section class="card"><${Facts} facts=${factsOf(plant)} /></section>`}`;
}

function factsOf({ id, name, tag, createdAt, createdBy }: StoredPlant) {
  return [
    ['Id', html`<code>${id}</code>`],
    ['Name', html`<${ExactText} text=${name} />`],
    [
      'Tag',
      tag === undefined
        ? html`<span class="quiet">none</span>`
        : html`<${ExactText} text=${tag} />`,
    ],
    ['Created', html`<${When} time=${createdAt} />`],
    ['With the token', html`<${ExactText} text=${createdBy} />`],
  ];
}
