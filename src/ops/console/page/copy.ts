import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.ts';

/** A page has no clipboard unless it came by TLS or from this machine. */
export async function isCopied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const saysMs = 4_000;

/** A text to take elsewhere, and a button that copies the text, or else selects it. */
export function Copyable({ text, what }: { text: string; what: string }) {
  const shown = useRef<HTMLElement>(null);
  const [says, setSays] = useState('');
  useEffect(() => {
    const resting = setTimeout(() => setSays(''), saysMs);
    return () => clearTimeout(resting);
  }, [says]);
  const copy = async () => {
    if (await isCopied(text)) return setSays('Copied');
    if (shown.current) getSelection()?.selectAllChildren(shown.current);
    setSays('Press Ctrl+C');
  };
  return html`
    <span class="copyable"><code ref=${shown}>${text}</code>
      <button type="button" class="small" aria-label=${`Copy ${what} ${text}`} onClick=${copy}>${says || 'Copy'}</button>
      <span class="unseen" role="status">${says}</span></span>`;
}
