export interface SampleCreate {
  readonly address: string;
  readonly token: string;
  readonly body: string;
  readonly id: string;
  readonly name: string;
  readonly tag: string | undefined;
}

interface Language {
  readonly name: string;
  readonly sample: (create: SampleCreate) => string;
}

/** Each sample sends the exact id, and prints the status, `Plant-Id` and the body. */
export const languages: Readonly<Record<string, Language>> = {
  curl: { name: 'curl', sample: curl },
  javascript: { name: 'JavaScript', sample: javascript },
  python: { name: 'Python', sample: python },
};

function curl({ address, token, body }: SampleCreate): string {
  return `curl --include ${shellText(address)} \\
  -H ${shellText(`Authorization: Bearer ${token}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shellText(body)}
`;
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The npm package retries, and takes exact ids only. */
function javascript({ address, token, id, name, tag }: SampleCreate): string {
  const tagLine = tag === undefined ? '' : `\n  tag: ${JSON.stringify(tag)},`;
  return `import { createClient } from 'plant-store-client';

const store = createClient({
  url: ${JSON.stringify(address.replace(/plants$/, ''))},
  token: ${JSON.stringify(token)},
});
const plant = await store.createPlant({
  id: ${id}n,
  name: ${JSON.stringify(name)},${tagLine}
});
console.log(plant);
`;
}

function python({ address, token, id, name, tag }: SampleCreate): string {
  const tagPart = tag === undefined ? '' : `, "tag": ${JSON.stringify(tag)}`;
  return `import json
import urllib.error
import urllib.request

plant = {"id": ${id}, "name": ${JSON.stringify(name)}${tagPart}}
request = urllib.request.Request(
    ${JSON.stringify(address)},
    data=json.dumps(plant).encode(),
    headers={
        "Authorization": ${JSON.stringify(`Bearer ${token}`)},
        "Content-Type": "application/json",
    },
)
try:
    reply = urllib.request.urlopen(request, timeout=10)
except urllib.error.HTTPError as error:
    reply = error
with reply:
    print(reply.status, reply.headers["Plant-Id"], reply.read().decode())
`;
}
