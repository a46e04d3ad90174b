import { headerFields } from '../../contract/openapi-responses.ts';
import { type ClientProblem, problems, reasonPhrases } from '../../contract/problems.ts';
import { numberText } from '../../quantity-text.ts';
import { curlCommand } from './page/curl.ts';

/** The example on the page: its id has more digits than a float holds exactly. */
const example = { id: '9007199254740993', name: 'Alder', tag: 'Alnus' };
const exampleBody = `{"id":${example.id},"name":"${example.name}","tag":"${example.tag}"}`;

/** Complete without JavaScript. Paths are relative, for proxies that serve the page elsewhere. */
export function referenceHtml(basePath: string, bodyBytesMax: number): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Plant Store: create a plant</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/theme.css">
<link rel="stylesheet" href="docs/style.css">
<script type="module" src="docs/page.ts"></script>
</head>
<body>
<header><b>Plant Store</b> <a href="openapi.json">openapi.json</a></header>
<main id="main">
<section class="intro">
<h1>Create a plant</h1>
<p class="operation"><b>POST</b> <code id="address">${escapeHtml(`${basePath}/plants`)}</code></p>
<p>A 200 means that the plant is on disk.
A retry with the same <code>id</code>, <code>name</code> and <code>tag</code> is always safe.</p>
</section>
<div class="doc">${requestSection(bodyBytesMax)}${replySection()}</div>
<div class="try">${form}${sample(basePath)}</div>
${errorSection()}
</main>
</body>
</html>
`;
}

function requestSection(bodyBytesMax: number): string {
  return section(
    'request',
    'Request',
    list({
      '`Authorization`':
        '`Bearer TOKEN`. The operator of the service, or an identity provider, gives the token.',
      '`Content-Type`': '`application/json`, in UTF-8',
      Body: `One JSON object of at most ${numberText(bodyBytesMax)} bytes. Other members are ignored.`,
      '`id` (integer, required)':
        'From -9223372036854775808 to 9223372036854775807. You choose the id, and each plant has ' +
        'its own. Use a JSON library that does not round the id.',
      '`name` (string, required)': 'May be empty. Kept byte for byte.',
      '`tag` (string)': 'May be empty. A plant without a tag differs from one with an empty tag.',
    }),
  );
}

function replySection(): string {
  return section(
    'reply',
    'Reply',
    list({
      '200': 'The plant is stored. The body has its `name`, and its `tag` if it has one.',
      '`Plant-Id`': headerFields['Plant-Id'].description,
      '`X-Request-Id`': headerFields['X-Request-Id'].description,
      '4xx': 'This request stored nothing. Correct the request; retry after 408 and 429 only.',
      '5xx':
        'The plant may be stored, except after the codes 50300 and 50302. Retry with the same ' +
        '`id`, `name` and `tag`, also after no reply at all.',
    }),
  );
}

const form = `<section aria-labelledby="try"><h2 id="try">Try it</h2>
<form class="card" id="create">
<noscript>This form needs JavaScript. The sample below does not.</noscript>
<label for="token">Token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" aria-describedby="note">
<label><input id="token-shown" type="checkbox"> Show</label>
<p id="note" class="quiet">The token stays in the memory of this page.
The sample has the token only while it is shown.</p>
<label for="id">id</label>
<input id="id" class="mono" inputmode="numeric" autocomplete="off" value="${example.id}">
<label for="name">name</label>
<input id="name" autocomplete="off" value="${example.name}">
<label for="tag">tag</label>
<input id="tag" autocomplete="off" value="${example.tag}">
<label><input id="tag-sent" type="checkbox" checked> Send a tag</label>
<button class="main" type="submit">Create the plant</button>
<div id="reply-shown" role="status"></div>
</form></section>`;

function sample(basePath: string): string {
  const address = `http://127.0.0.1:8080${basePath}/plants`;
  const command = escapeHtml(curlCommand({ address, token: 'TOKEN', body: exampleBody }));
  const code = `<pre tabindex="0" aria-label="Sample in curl"><code id="curl">${command}</code></pre>
<p hidden><button id="copy" type="button">Copy</button> <span id="copied" role="status"></span></p>`;
  return section('sample', 'Sample', code);
}

function errorSection(): string {
  const rows = Object.values<ClientProblem>(problems).map((problem) => {
    const { code, status, when, remedy, headers } = problem;
    const fields = Object.entries(headers).map(([name, value]) => `\`${name}: ${value}\``);
    const cells = [
      `<th scope="row"><a href="#error-${code}">${code}</a></th>`,
      `<td>${status} ${reasonPhrases[status]}</td>`,
      `<td>${prose(when)}<p class="quiet">${escapeHtml(problem.example)}</p></td>`,
      `<td data-remedy>${prose(remedy)}</td>`,
      `<td>${prose(fields.join(' '))}</td>`,
    ];
    return `<tr id="error-${code}">${cells.join('')}</tr>`;
  });
  const titles = ['Code', 'Status', 'When, and a message', 'What to do', 'Header fields'];
  const head = titles.map((title) => `<th scope="col">${title}</th>`).join('');
  return `<section class="errors" aria-labelledby="errors" tabindex="0"><h2 id="errors">Errors</h2>
<p>The body of every error is <code>{"error": CODE, "message": TEXT}</code>.
A code never changes its meaning.</p>
<table><thead><tr>${head}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table></section>`;
}

function section(id: string, title: string, content: string): string {
  return `<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>\n${content}</section>`;
}

function list(entries: Readonly<Record<string, string>>): string {
  const shown = Object.entries(entries).map(
    ([term, text]) => `<div><dt>${prose(term)}</dt><dd>${prose(text)}</dd></div>`,
  );
  return `<dl>${shown.join('\n')}</dl>`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Text of the catalogue, in which backticks enclose code. */
function prose(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
