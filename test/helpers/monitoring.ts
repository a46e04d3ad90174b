import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** What no service has that the tests start for this. Other tests find these metrics. */
const ofOtherServices = [
  'plant_store_backup_failed',
  'plant_store_certificate_expires_seconds',
  'plant_store_decided_seconds',
  'plant_store_issuer_keys_read_seconds',
  'plant_store_plants_lost',
  'plant_store_token_expires_seconds',
  'plant_store_token_old_secret_expires_seconds',
  'plant_store_token_old_secret_last_used_seconds',
  'plant_store_token_refusals_total',
];

export function metricNames(metrics: string): Set<string> {
  const lines = metrics.matchAll(/^([a-z_]+)(?:\{.*\})? \S+$/gm);
  return new Set([...lines].map(([, name = '']) => name));
}

/** The dashboard and the alerts name no metric beside these. */
export function assertMonitored(known: readonly string[]): void {
  for (const file of ['grafana-dashboard.json', 'alerts.yaml']) {
    const content = readFileSync(new URL(`../../monitoring/${file}`, import.meta.url), 'utf8');
    const named = new Set(content.match(/\b(plant_store|process)_[a-z_]+/g));
    assert(named.size >= 8, `${file} names ${named.size}`);
    const unknown = named.difference(new Set([...known, ...ofOtherServices]));
    assert.deepEqual([...unknown], [], file);
  }
}
