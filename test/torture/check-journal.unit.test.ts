import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPlants, type JournalEntry, type SentPlant } from './check-journal.ts';

/** What was sent from when to when, and the reply: a code, 200, or `lost`. */
type Operation = readonly [SentPlant, fromMs: number, toMs: number, reply: number | 'lost'];

const alder = { id: '1', name: 'Alder' };
const tagged = { ...alder, tag: '' };
const oak = { id: '1', name: 'Oak' };

/** With what is stored at the end. */
const sound: Readonly<Record<string, [SentPlant | undefined, ...Operation[]]>> = {
  'of two at once, one is stored': [oak, [alder, 1, 5, 40004], [oak, 2, 6, 200]],
  'what is unknown has taken the id': [oak, [oak, 1, 2, 'lost'], [alder, 3, 4, 40004]],
  'what is unknown is not stored': [undefined, [oak, 1, 2, 50301], [alder, 3, 4, 50300]],
  'a retry is answered as the first': [alder, [alder, 1, 2, 50301], [alder, 3, 4, 200]],
};

const lost = /request 1: it was answered 200 and is not in the store$/;
const noSuchId = /its id is taken, and the store has no such id$/;
const byItself = /its id is taken, and by this very plant$/;
const tooEarly = /its id is taken, before the plant that has it was sent$/;
const neverSent = /^id 1: it is in the store and was never sent$/;
const allRefused = /the store holds .*, and every request for such a plant was refused$/;
const firstReplaced = /request 1: it was answered 200, and the store holds .*"Alder","tag":""/;
const secondIgnored = /request 2: it was answered 200, and the store holds .*"Alder"}/;

const wrong: Readonly<Record<string, [RegExp, SentPlant | undefined, ...Operation[]]>> = {
  'two contents are acknowledged': [secondIgnored, alder, [alder, 1, 5, 200], [tagged, 2, 6, 200]],
  'a later 200 replaces a plant': [firstReplaced, tagged, [alder, 1, 2, 200], [tagged, 3, 4, 200]],
  'no other can have the id': [noSuchId, undefined, [alder, 1, 2, 40004], [oak, 1, 2, 50302]],
  'an id is taken too early': [tooEarly, oak, [alder, 1, 2, 40004], [oak, 3, 4, 200]],
  'an id is taken by the very plant': [byItself, alder, [alder, 1, 2, 200], [alder, 3, 4, 40004]],
  'an acknowledged plant is lost': [lost, undefined, [alder, 1, 2, 200]],
  'what had the id is lost': [noSuchId, undefined, [oak, 1, 2, 'lost'], [alder, 3, 4, 40004]],
  'an id was never sent': [neverSent, alder],
  'a content was never sent': [allRefused, tagged, [alder, 1, 2, 'lost']],
  'a 50300 has stored a plant': [allRefused, oak, [oak, 1, 2, 50300], [alder, 1, 2, 'lost']],
  'a 50302 has stored a plant': [allRefused, oak, [oak, 1, 2, 50302], [tagged, 1, 2, 'lost']],
  'a valid plant is refused': [/a valid plant was refused/, undefined, [alder, 1, 2, 40001]],
  'the server has a defect': [/answered with a defect/, undefined, [alder, 1, 2, 50000]],
};

function violationsIn(stored: SentPlant | undefined, operations: readonly Operation[]) {
  const entries = operations.flatMap((operation, index) => entriesOf(index + 1, operation));
  const byTime = entries.toSorted((one, other) => one.atMs - other.atMs);
  return checkPlants(new Map(stored && [[stored.id, stored]]), byTime).violations;
}

function entriesOf(n: number, [sent, fromMs, toMs, reply]: Operation): JournalEntry[] {
  const { name, tag } = sent;
  const body = JSON.stringify(reply === 200 ? { name, tag } : { error: reply });
  const outcome =
    reply === 'lost'
      ? { n, atMs: toMs, lost: true as const }
      : { n, atMs: toMs, status: Number(`${reply}`.slice(0, 3)), body };
  return [{ n, atMs: fromMs, sent, storable: true }, outcome];
}

for (const [what, [stored, ...operations]] of Object.entries(sound)) {
  test(`a history is sound in which ${what}`, () =>
    assert.deepEqual(violationsIn(stored, operations), []));
}

for (const [what, [says, stored, ...operations]] of Object.entries(wrong)) {
  test(`a history is wrong in which ${what}`, () => {
    const violations = violationsIn(stored, operations);
    const isFound = violations.some((violation) => says.test(violation));
    assert(isFound, `${violations}`);
  });
}
