type Sample = Readonly<Record<'address' | 'token' | 'body', string>>;

/** A create as a command of a shell, which prints the status, `Plant-Id` and the body. */
export function curlCommand({ address, token, body }: Sample): string {
  return `curl --include ${shellText(address)} \\
  -H ${shellText(`Authorization: Bearer ${token}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shellText(body)}
`;
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
