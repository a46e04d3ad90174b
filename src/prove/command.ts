import { CommandError, command, type Terminal } from '../cli/command.ts';
import { withoutSettings } from '../cli/flags/environment.ts';
import type { Style } from '../cli/terminal/screen.ts';
import { hanging } from '../cli/terminal/wrap.ts';
import { limits } from '../limits.ts';
import { numberText, plantsText } from '../quantity-text.ts';
import { generateToken } from '../tokens/opaque-tokens.ts';
import type { Proof } from './proof.ts';
import { ProofError } from './server.ts';
import { openTarget, type Target } from './target.ts';

export const prove = command({
  positionals: [],
  summary:
    'Run and kill a second service under load, and check that no acknowledged plant is lost.',
  need: 'Use it before plants depend on a machine, disk or database.',
  flags: ['store', 'json'],
  examples: [
    'plant-store prove',
    'plant-store prove --store sqlite:/var/lib/plant-store/plants.db',
    'plant-store prove --store postgres://plants@db.example.org/plants',
  ],
  async run({ values }, terminal) {
    // The HTTP client takes long to load.
    const { prove: proveOn } = await import('./proof.ts');
    const interruption = new AbortController();
    // Before anything is made that must be removed.
    using _ = terminal.onStopSignal((name) => interruption.abort(name));
    using target = await openTarget(values.store);
    const token = generateToken();
    const proof = await proveOn({
      env: { ...withoutSettings(terminal.env), PLANT_STORE_TOKEN: token },
      makeStore: target.makeStore,
      token,
      stop: interruption.signal,
      report: progress(terminal),
    })
      .catch((error) => {
        if (!(error instanceof ProofError)) throw error;
        for (const statement of target.left)
          terminal.note(`A schema is left in the database; remove it with: ${statement}`);
        if (!interruption.signal.aborted) throw new CommandError(error.message, { cause: error });
      })
      .finally(() => terminal.showProgress(''));
    if (proof && values.json)
      terminal.print(JSON.stringify({ proved: isProved(proof), ...target.record, ...proof }));
    else if (proof) printForPeople(target, proof, terminal);
    if (!interruption.signal.aborted) return proof && isProved(proof) ? 0 : 1;
    const end = target.left.length === 0 ? '; nothing is left behind' : '';
    terminal.note(`plant-store: stopped by ${interruption.signal.reason} before its time${end}`);
    return 1;
  },
});

function progress(terminal: Terminal): (soFar: Proof) => void {
  const startedMs = performance.now();
  return ({ kills, acknowledged, lost }) => {
    const passed = ((performance.now() - startedMs) / 1_000).toFixed(0);
    const time = `${passed} of ${limits.prove.seconds} s`;
    terminal.showProgress(`${time}: ${kills} kills, ${plantsText(acknowledged)}, ${lost} lost`);
  };
}

function printForPeople(target: Target, proof: Proof, { print, width }: Terminal): void {
  const show = (line: string, style?: Style) => {
    const [name, text] = [line.slice(0, nameColumns).trimEnd(), line.slice(nameColumns)];
    for (const part of hanging(name, text, nameColumns, width === undefined)) print(part, style);
  };
  for (const line of target.lines) show(line);
  if (target.doubt !== undefined) show(`warning   ${target.doubt}`, 'warning');
  const { kills, acknowledged, loadMs, lost, changed, extra } = proof;
  const perSecond = numberText(acknowledged / (loadMs / 1_000));
  const on = `on ${limits.prove.connections} connections, ${perSecond} a second`;
  show(`load      ${plantsText(acknowledged)} acknowledged ${on}`);
  show(`kills     ${kills}`);
  show(`plants    ${lost} lost, ${changed} changed, ${extra} extra`);
  show(`verdict   ${verdict(proof, target.doctor)}`, isProved(proof) ? 'good' : 'bad');
  show(`unproved  ${target.unproved.join(' ')}`);
}

const nameColumns = 'database  '.length;

function verdict(proof: Proof, doctor: string): string {
  return isProved(proof)
    ? 'passed: the store holds every plant that was answered with 200, as sent, and no others'
    : `FAILED: do not rely on the service on this machine; run ${doctor}, and report this`;
}

function isProved({ lost, changed, extra }: Proof): boolean {
  return lost + changed + extra === 0;
}
