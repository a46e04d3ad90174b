import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { clients, setUp } from '../clients/generated/clients.ts';
import { blocksOf, pages, readPage, root } from './helpers/pages.ts';

const linesMax = 250;

/** `test/service/docs.test.ts` and, for the installation, `packaging/test/` run both. */
const languagesRun = ['sh', 'js'];
/** Files, queries and pictures. */
const languagesOfNoCommand = [
  'caddy',
  'haproxy',
  'cron',
  'http',
  'ini',
  'json',
  'mermaid',
  'nginx',
  'sql',
  'text',
  'yaml',
];

/** The first line of each block of commands that no test runs, by what the commands need. */
const notRun = {
  'a service with refusals: test/service/tail.test.ts runs the commands': ['npx plant-store tail'],
  'a second service on the same port': ['plant-store serve --port 8080 --reuse-port'],
  'a service that runs until it is stopped': [
    'npx plant-store serve --store postgres://plants@db.example.org/plants',
  ],
  'a second machine': ['ssh garden plant-store export | plant-store import -'],
  'a proxy': ['plant-store serve --trusted-proxies 10.0.0.0/8,::1'],
  'a certificate': [
    'plant-store doctor --tls-certificate plants.pem --tls-key plants.key',
    'plant-store healthcheck --ops-tls-certificate ops.pem',
  ],
  'Litestream: test/service/litestream.test.ts and packaging/test/debian.test.ts run the commands':
    [
      '# root',
      'export LITESTREAM_STORE=$PWD/data/plants.db LITESTREAM_REPLICA=file:///mnt/replica',
      'litestream restore -o restored.db file:///mnt/replica',
    ],
  'an identity provider: test/service/jwt.test.ts runs the commands': [
    'plant-store doctor --jwt-issuer https://login.example.org --jwt-audience plants',
    'plant-store token inspect --jwt-issuer https://login.example.org --jwt-audience plants < token.txt',
    "plant-store plants list --details --created-by 'https://login.example.org 1b9d6bcd'",
  ],
  'jobs of a service: test/service/schedule.test.ts runs the command': [
    'plant-store serve --backup-to /mnt/backups',
  ],
  'a damaged store: test/service/scrub.test.ts runs the command': ['systemctl stop plant-store'],
  'a release': ['sha256sum --check --ignore-missing SHA256SUMS', 'git checkout COMMIT'],
  jq: [
    `npx plant-store doctor --json | jq -r 'select(.level != "ok") | "\\(.check): \\(.says)"'`,
    "jq -r '.text // empty' plants.ndjson.refused.ndjson > again.ndjson",
    "jq -c '.plants[] | {id: .number, name: .title, tag: .genus} | del(.tag | nulls)' garden.json | plant-store import -",
  ],
  'compilers: test/service/examples.test.ts runs the programs': [
    'export URL=http://127.0.0.1:8080 TOKEN=$(cat data/first-start.token)',
  ],
  'generators, from the network: npm run clients runs the commands': [
    'mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.25.0 -DoutputDirectory=. -Dmdep.stripVersion',
    'java -jar openapi-generator-cli.jar generate -i openapi.json -g java --library native -o client',
    'go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config oapi-codegen.yaml openapi.json',
    'pip install openapi-python-client==0.29.1 ruff==0.17.6',
    'npm install openapi-fetch@0.17.0 openapi-typescript@7.13.0',
    'npm install @hey-api/openapi-ts@0.99.0',
    'npm install orval@8.38.0',
  ],
  'suites of others, from the network': [
    'export PLANT_STORE_TOKEN=$(openssl rand -hex 24)',
    'python3 -m venv /tmp/suites/tools && /tmp/suites/tools/bin/pip install deno schemathesis',
    'git clone https://github.com/nst/JSONTestSuite /tmp/suites/json',
    'cd /tmp/suites',
  ],
};

test('every block of a page is run by a test, is no command, or is a known exception', () => {
  const expected = Object.values(notRun).flat();
  const blocks = pages.flatMap(blocksOf);
  for (const { page, language, text } of blocks)
    assert(
      [...languagesRun, ...languagesOfNoCommand, 'bash'].includes(language),
      `${page}: no test knows what to do with "${language}": ${text}`,
    );
  const found = blocks
    .filter(({ language }) => language === 'bash')
    .map(({ text }) => text.split('\n')[0]);
  assert.deepEqual(found.sort(), expected.sort());
});

test('the page of generated clients shows the commands that npm run clients takes', () => {
  const page = 'docs/use/generated-clients.md';
  const lines = blocksOf(page).flatMap(({ text }) => text.split('\n'));
  for (const command of [setUp, ...clients.map(({ generate }) => generate)])
    assert(lines.includes(command), `${page} lacks the command ${command}`);
});

test('every link of a page leads to a file or a heading', () => {
  for (const page of pages)
    for (const [, target = ''] of withoutBlocks(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : normalize(join(dirname(page), path));
      assert(existsSync(join(root, file)), `${page}: there is no ${file}`);
      if (anchor) assert(anchorsOf(file).includes(anchor), `${page}: ${file} has no #${anchor}`);
    }
});

test('every page and heading that the code names is there', () => {
  const files = globSync('{bench,monitoring,scripts,src,test}/**/*.{ts,json,yaml}', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  for (const file of files)
    for (const [, page = '', anchor] of readFileSync(join(root, file), 'utf8').matchAll(
      /\b(docs\/[a-z/-]+\.md)\b(?:#([a-z0-9-]+))?/g,
    )) {
      assert(existsSync(join(root, page)), `${file}: there is no ${page}`);
      if (anchor) assert(anchorsOf(page).includes(anchor), `${file}: ${page} has no #${anchor}`);
    }
});

test('the index of the documentation names every page of it', () => {
  const index = readPage('docs/README.md');
  for (const page of pages.filter((one) => /^docs\/.+\//.test(one)))
    assert(index.includes(`(${page.slice('docs/'.length)})`), `docs/README.md lacks ${page}`);
});

test(`no page of the documentation has more than ${linesMax} lines`, () => {
  for (const page of pages.filter((one) => one.startsWith('docs/'))) {
    const lines = readPage(page).split('\n').length - 1;
    assert(lines <= linesMax, `${page} has ${lines} lines`);
  }
});

test('each sentence of a page has a line of its own', () => {
  for (const page of pages)
    for (const line of withoutBlocks(page).split('\n')) {
      const isTableOrHeading = /^\s*[|#]/.test(line);
      if (isTableOrHeading) continue;
      const text = line.replace(/^\s*(?:[-*]|\d+\.) /, '');
      assert.doesNotMatch(text, /[^.\s][.?!] +[A-Z`[*"(]/, `${page} has two sentences in: ${line}`);
    }
});

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(page: string): string[] {
  const headings = withoutBlocks(page).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutBlocks(page: string): string {
  return readPage(page).replaceAll(/^( *)```.*?^\1```/gms, '');
}
