import assert from 'node:assert/strict';
import type { PatroniCluster } from '../../helpers/patroni.ts';
import type { Fault, NodeSetting } from './faults.ts';

type PatroniFault = Fault<PatroniCluster & NodeSetting>;

export const patroniFaults: Readonly<Record<string, PatroniFault>> = {
  async 'Patroni switches over'({ primary, primaryBeside }) {
    const old = await primary();
    const body = JSON.stringify({ leader: old.name });
    const reply = await fetch(`${old.apiUrl}/switchover`, { method: 'POST', body });
    assert.equal(reply.status, 200, await reply.text());
    await primaryBeside(old);
  },
  async 'the primary is killed with its Patroni'({ primary, primaryBeside }) {
    const old = await primary();
    old.signal('SIGKILL');
    await primaryBeside(old);
    old.start();
  },
  async 'the primary stands still, and comes back beside the next'({ primary, primaryBeside }) {
    const old = await primary();
    old.signal('SIGSTOP');
    await primaryBeside(old);
    old.signal('SIGCONT');
  },
};
