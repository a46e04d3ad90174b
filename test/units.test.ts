import { globSync } from 'node:fs';

// Tests that need nothing outside their process share one: a process for each file takes longer than most of them.
for (const file of globSync('**/*.unit.test.ts', { cwd: import.meta.dirname }).sort())
  await import(`./${file}`);
