import { checkAll } from './checks.ts';
import { command } from './command.ts';

export const doctor = command({
  name: 'doctor',
  positionals: [],
  summary: 'Check the set-up: what is really in force for the store, its folder, its disk and the process.',
  flags: ['store'],
  examples: ['plant-store doctor', 'plant-store doctor --store sqlite:/var/lib/plant-store/plants.db'],
  async run({ values }, terminal) {
    const findings = checkAll(values.store, terminal.userId);
    const nameChars = Math.max(...findings.map(({ name }) => name.length));
    for (const { level, name, says } of findings) terminal.print(`${level.padEnd('warning'.length)}  ${name.padEnd(nameChars)}  ${says}`);
    return findings.some(({ level }) => level === 'error') ? 1 : 0;
  },
});
