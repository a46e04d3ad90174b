import { command } from './command.ts';
import { addressFlags, operatorAddress, readiness } from './operator/address.ts';

export const healthcheck = command({
  positionals: [],
  summary: 'Ask a running service whether it stores creates. Exit code 1 means no, or no answer.',
  need: 'Use it for the health check of a container, which has no curl.',
  flags: [...addressFlags, 'json'],
  examples: ['plant-store healthcheck', 'plant-store healthcheck --ops-port 9091'],
  async run({ values }, terminal) {
    const { ready, checks } = await readiness(operatorAddress(values, 'ask for the health'));
    if (values.json) terminal.print(JSON.stringify({ ready, checks }));
    else for (const { name, level, says } of checks) terminal.print(`${level}  ${name}: ${says}`);
    return ready ? 0 : 1;
  },
});
