import { useEffect, useState } from 'preact/hooks';
import { html } from './html.ts';

interface JumpProps {
  readonly field: string;
  /** The path of the record with the id. */
  readonly pathOf: (id: string) => string;
  /** What is wrong with a text that is no id; false for an id. */
  readonly faultOf: (id: string) => string | false;
}

/** A form that goes to the record with an id. A text that is no id needs no request. */
export function Jump({ field, pathOf, faultOf }: JumpProps) {
  const [says, setSays] = useState('');
  useEffect(() => {
    const forget = () => setSays('');
    addEventListener('hashchange', forget);
    return () => removeEventListener('hashchange', forget);
  }, []);
  const jump = (event: SubmitEvent) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget as HTMLFormElement).get('id')).trim();
    const fault = faultOf(id);
    if (fault === false) location.hash = `#${pathOf(id)}`;
    else setSays(fault);
  };
  return html`
    <form class="jump beside" aria-label="Go to ${field.toLowerCase()}" onSubmit=${jump} onInput=${() => setSays('')}>
      <label for="jump" class="unseen">${field}</label>
      <input id="jump" name="id" placeholder=${field} maxlength="128" autocomplete="off" spellcheck=${false}
        aria-invalid=${says !== ''} aria-describedby="jump-says" />
      <button>Go to id</button>
      <span id="jump-says" role="alert">${says && html`<span class="note bad">${says}</span>`}</span>
    </form>`;
}
