import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { limits } from '../src/limits.ts';
import { sizeText } from '../src/quantity-text.ts';
import { blocksOf, pages, readPage, root } from './helpers/pages.ts';

/** `test/docs.slow.test.ts` and, for the installation, `packaging/test/` run both. */
const languagesRun = ['sh', 'js'];
/** Files, queries and pictures. */
const languagesOfNoCommand = 'caddy cron haproxy http ini json mermaid nginx sql text yaml'.split(
  ' ',
);

/** The first line of each block of commands that no test runs, by what the commands need. */
const notRun = {
  'a second service on the same port': ['plant-store serve --port 8080 --reuse-port'],
  'a service that runs until it is stopped': [
    'npx plant-store serve --store postgres://plants@db.example.org/plants',
    'plant-store serve --backup-to /mnt/backups',
  ],
  'a second machine': ['ssh garden plant-store export | plant-store import -'],
  'the journal of systemd': ['journalctl --follow --unit plant-store'],
  "certbot: packaging/test/debian.test.ts runs the commands in certbot's place": [
    "certbot certonly --standalone --domain plants.example.org --cert-name plant-store --deploy-hook 'systemctl try-restart plant-store'",
  ],
  'a certificate': ['plant-store doctor --tls-certificate plants.pem --tls-key plants.key'],
  'Litestream: test/backup/litestream.slow.test.ts and packaging/test/debian.test.ts run the commands':
    [
      '# root',
      'export LITESTREAM_STORE=$PWD/data/plants.db LITESTREAM_REPLICA=file:///mnt/replica',
      'litestream restore -o restored.db file:///mnt/replica',
    ],
  'an identity provider: test/tokens/jwt.test.ts runs the commands': [
    'plant-store doctor --jwt-issuer https://login.example.org --jwt-audience plants',
    "plant-store plants list --created-by 'https://login.example.org 1b9d6bcd'",
  ],
  'a release': ['sha256sum --check --ignore-missing SHA256SUMS'],
  jq: [
    `npx plant-store doctor --json | jq -r 'select(.level != "ok") | "\\(.check): \\(.says)"'`,
    "jq -r '.text // empty' plants.ndjson.refused.ndjson > again.ndjson",
    "jq -c '.plants[] | {id: .number, name: .title, tag: .genus} | del(.tag | nulls)' garden.json | plant-store import -",
  ],
  'compilers: test/examples.slow.test.ts runs the programs': [
    'export URL=http://127.0.0.1:8080 TOKEN=$(cat data/first-start.token)',
  ],
  'generators, from the network: npm run clients runs the commands': [
    'mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:7.25.0 -DoutputDirectory=. -Dmdep.stripVersion',
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

test('every test that a page names is there', () => {
  for (const page of pages.filter((one) => one.startsWith('docs/')))
    for (const [file] of readPage(page).matchAll(/\b(packaging\/)?test\/[a-z/-]+\.test\.ts\b/g))
      assert(existsSync(join(root, file)), `${page}: there is no ${file}`);
});

test('the index of the documentation names every page of it', () => {
  const index = readPage('docs/README.md');
  for (const page of pages.filter((one) => /^docs\/.+\//.test(one)))
    assert(index.includes(`(${page.slice('docs/'.length)})`), `docs/README.md lacks ${page}`);
});

test('the page of bounds has the bounds of the program', () => {
  const { access, http, jwt, ops, service, sqlite, store } = limits;
  const number = (value: number) => value.toLocaleString('en');
  const seconds = (ms: number) => `${ms / 1_000} s`;
  const rows: Readonly<Record<string, string>> = {
    'request line and header fields of a request': `${sizeText(http.headerBytesMax)}, ${number(http.headerFieldsMax)} fields`,
    'empty lines before a request line': sizeText(http.emptyLineBytesMax),
    'a body': `\`--body-limit\` (${sizeText(http.bodyBytesMax)})`,
    'bodies that have arrived in part and replies that are not read, together': sizeText(
      http.clientsBytesMax,
    ),
    'the same, and unfinished heads, of strangers': sizeText(http.strangersBytesMax),
    'time for the header fields': seconds(http.headersMs),
    'time for a request': seconds(http.requestMs),
    'time for a handshake of TLS': seconds(http.handshakeMs),
    'a client that takes nothing of its replies': `the time for a request, \`--commit-timeout\` and ${seconds(http.lingerMs)} (${seconds(http.requestMs + store.commitMs + http.lingerMs)})`,
    'a connection without a request, empty lines included': seconds(http.idleMs),
    'unanswered requests on one connection': `${http.pipelineMax} requests, or replies of ${sizeText(http.unsentBytes)}`,
    'unanswered requests behind others, on all connections': number(http.pipelinedInAllMax),
    connections: `what \`ulimit -n\` allows, at most ${number(service.connectionsMax)}, or ${number(service.tlsConnectionsMax)} with TLS`,
    'plants that wait for the disk': `${number(store.queuePlantsMax)}, and ${sizeText(store.queueBytesMax)}`,
    'time to wait for the disk': `\`--commit-timeout\` (${seconds(store.commitMs)})`,
    'requests without a valid token': `${number(access.refusalsAtOnce)} in a second on each thread | each further refusal is delayed by ${access.refusalDelayMs} ms`,
    'reading the tokens again for an unknown token': `${1_000 / access.readAgainMs} times in a second`,
    'an opaque token; a JWT': `${access.tokenCharsMax} characters; ${sizeText(jwt.tokenCharsMax)}`,
    'subjects that the store remembers': `${number(jwt.subjectsMax)}, and those of the last hour`,
    'time to stop': seconds(service.drainMs),
    'a connection without a request': seconds(ops.idleMs),
    'wrong tokens that are answered at once': `${ops.guessesAtOnce}, and then one in ${seconds(ops.guessEveryMs)}`,
    'refusals that are remembered': number(ops.refusalsKept),
    'tokens with figures of their own': number(ops.tokenFiguresMax),
    'sessions of a token': number(access.sessionsPerTokenMax),
    'refusals with a line of their own': `${service.refusalLinesMax} in a second`,
    'lines that wait for standard error': number(service.logLinesMax),
    'calls of operators and heartbeats that wait for a store in SQLite': number(service.callsMax),
    'tokens that are neither revoked nor expired': number(access.liveTokensMax),
    'the [WAL](store.md#the-wal)': sizeText(sqlite.walBytesMax),
    'time to save a store whose files [were removed or replaced](recovery.md#files-that-were-removed-or-replaced)':
      seconds(sqlite.rescueMs),
  };
  const page = readPage('docs/operate/bounds.md');
  for (const [what, bound] of Object.entries(rows))
    assert(page.includes(`\n| ${what} | ${bound}`), `${what}: ${bound}`);
  assert(page.includes(`\n| a body | ${sizeText(ops.bodyBytesMax)} |`));
  const { opsConnectionsMax, opsConnectionsMin } = service;
  assert(
    page.includes(
      `| ${opsConnectionsMax}, or an eighth of \`ulimit -n\` if less, but at least ${opsConnectionsMin} |`,
    ),
  );
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
