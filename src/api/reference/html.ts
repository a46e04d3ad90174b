import { headerFields } from '../../contract/openapi-responses.ts';
import { type ClientProblem, problems, reasonPhrases } from '../../contract/problems.ts';
import { languages } from './page/samples.ts';

/** The example on the page: its id has more digits than a float holds exactly. */
const example = { id: '9007199254740993', name: 'Alder', tag: 'Alnus' };
const exampleBody = `{"id":${example.id},"name":"${example.name}","tag":"${example.tag}"}`;

/**
 * The reference page, complete without JavaScript. Its paths are relative, for proxies that serve
 * the page below another path.
 *
 * @param basePath without a slash at its end
 */
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
<a class="skip" href="#main">Skip to the content</a>
<header>
<b>Plant Store</b>
<nav aria-label="Sections"><a href="#request">Request</a> <a href="#reply">Reply</a> <a href="#errors">Errors</a> <a href="openapi.json">openapi.json</a></nav>
</header>
<main id="main">
<section class="intro">
<h1>Create a plant</h1>
<p class="operation"><b>POST</b> <code id="address">${escapeHtml(`${basePath}/plants`)}</code></p>
<p>A 200 means that the plant is on disk. A retry with the same <code>id</code>, <code>name</code> and <code>tag</code> is always safe.</p>
</section>
<div class="doc">${requestSection(bodyBytesMax)}${replySection()}</div>
<div class="try">${form}${samples(basePath)}</div>
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
    `<dl class="fields">
<div><dt><code>Authorization</code></dt><dd><code>Bearer TOKEN</code>. The operator of the service, or an identity provider, gives you the token.</dd></div>
<div><dt><code>Content-Type</code></dt><dd><code>application/json</code>, in UTF-8</dd></div>
</dl>
<h3>Body</h3>
<p>One JSON object of at most ${bodyBytesMax} bytes. Other members are ignored.</p>
<dl class="fields">
<div><dt><code>id</code> <span class="quiet">integer, required</span></dt><dd>From -9223372036854775808 to 9223372036854775807. You choose the id, and each plant has its own. Use a JSON library that does not round the id.</dd></div>
<div><dt><code>name</code> <span class="quiet">string, required</span></dt><dd>May be empty. Kept byte for byte.</dd></div>
<div><dt><code>tag</code> <span class="quiet">string</span></dt><dd>May be empty. A plant without a tag differs from a plant with an empty tag.</dd></div>
</dl>`,
  );
}

function replySection(): string {
  const fields = (['Plant-Id', 'X-Request-Id'] as const).map(
    (name) =>
      `<div><dt><code>${name}</code></dt><dd>${prose(headerFields[name].description)}</dd></div>`,
  );
  return section(
    'reply',
    'Reply',
    `<dl class="outcomes">
<div><dt><span class="badge good">200</span></dt><dd>The plant is stored. The body has its <code>name</code>, and its <code>tag</code> if it has one.</dd></div>
<div><dt><span class="badge bad">4xx</span></dt><dd>The plant was not stored by this request. Correct the request; retry after 408 and 429 only.</dd></div>
<div><dt><span class="badge warning">5xx</span></dt><dd>The plant may be stored, except after the codes 50300 and 50302. Retry with the same <code>id</code>, <code>name</code> and <code>tag</code>, also after no reply at all.</dd></div>
</dl>
<h3>Header fields of a 200</h3>
<dl class="fields">${fields.join('')}</dl>`,
  );
}

const form = `<section aria-labelledby="try"><h2 id="try">Try it</h2>
<form class="card" id="create">
<noscript>This form needs JavaScript. The samples below do not.</noscript>
<label for="token">Token</label>
<div class="token"><input id="token" type="password" autocomplete="off" spellcheck="false" aria-describedby="token-note"><label><input id="token-shown" type="checkbox"> Show</label></div>
<p id="token-note" class="quiet">The token stays in the memory of this page. Samples have the token only while it is shown.</p>
<label for="id">id</label>
<input id="id" class="mono" inputmode="numeric" autocomplete="off" value="${example.id}">
<label for="name">name</label>
<input id="name" autocomplete="off" value="${example.name}">
<div class="row"><label for="tag">tag</label><label><input id="tag-sent" type="checkbox" checked> Send a tag</label></div>
<input id="tag" autocomplete="off" value="${example.tag}">
<button class="main" type="submit">Create the plant</button>
<div id="reply-shown" role="status"></div>
</form></section>`;

/** The samples follow the form. The radio buttons choose one, also without JavaScript. */
function samples(basePath: string): string {
  const address = `http://127.0.0.1:8080${basePath}/plants`;
  const shown = Object.entries(languages).map(([key, { name, sample }], index) => {
    const code = sample({ ...example, address, token: 'TOKEN', body: exampleBody });
    return `<input type="radio" name="language" id="in-${key}"${index === 0 ? ' checked' : ''}><label for="in-${key}">${name}</label>
<div class="sample"><pre tabindex="0" aria-label="Sample in ${name}"><code data-language="${key}">${escapeHtml(code)}</code></pre></div>`;
  });
  return `<section aria-labelledby="samples"><h2 id="samples">Samples</h2>
<fieldset class="samples"><legend class="unseen">Language</legend>${shown.join('\n')}</fieldset></section>`;
}

function errorSection(): string {
  const rows = Object.values<ClientProblem>(problems).map(
    ({ code, status, when, remedy, headers, example: message }) => {
      const fields = Object.entries(headers).map(
        ([name, value]) => `<code>${escapeHtml(`${name}: ${value}`)}</code>`,
      );
      return `<tr id="error-${code}"><th scope="row"><a href="#error-${code}">${code}</a></th><td>${status} ${reasonPhrases[status]}</td><td>${prose(when)}<p class="quiet message">${escapeHtml(message)}</p></td><td data-remedy>${prose(remedy)}</td><td>${fields.join('<br>')}</td></tr>`;
    },
  );
  return `<section class="errors" aria-labelledby="errors"><h2 id="errors">Errors</h2>
<p>The body of every error is <code>{"error": CODE, "message": TEXT}</code>. A code never changes its meaning.</p>
<table><thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">When, and a message</th><th scope="col">What to do</th><th scope="col">Header fields</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></section>`;
}

function section(id: string, title: string, content: string): string {
  return `<section aria-labelledby="${id}"><h2 id="${id}">${title}</h2>\n${content}</section>`;
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
