import { useCallback } from 'preact/hooks';
import { int64FromDigits } from '../../../contract/int64.ts';
import type { PlantId, StoredPlant } from '../../contract.ts';
import type { Api } from './api.ts';
import { ExactText, Facts, Failure, Skeleton, When } from './components.ts';
import { html } from './html.ts';
import { plantsFrom } from './plant-view.ts';
import { Creator } from './plants.ts';
import { useAnswer } from './requests.ts';

export function PlantDetail({ api, id }: { api: Api; id: PlantId }) {
  const ask = useCallback((signal: AbortSignal) => api.plant(id, signal), [api, id]);
  const { answer: plant, error } = useAnswer(ask);
  const number = int64FromDigits(id);
  return html`
    <p class="links"><a href="#/plants">All plants</a> ${number !== undefined && html`<a href=${plantsFrom(number)}>Plants from this id on</a>`}</p>
    <${Failure} error=${error} />
    ${!plant && !error && html`<${Skeleton} rows=${5} />`}
    ${plant && html`<section class="card"><${Facts} facts=${factsOf(plant)} /></section>`}`;
}

function factsOf({ id, name, tag, createdAt, createdBy }: StoredPlant) {
  const noTag = html`<span class="quiet">none</span>`;
  return [
    ['Id', html`<code>${id}</code>`],
    ['Name', html`<${ExactText} text=${name} />`],
    ['Tag', tag === undefined ? noTag : html`<${ExactText} text=${tag} />`],
    ['Created', html`<${When} time=${createdAt} hasUtc />`],
    ['By', html`<${Creator} name=${createdBy} />`],
  ];
}
