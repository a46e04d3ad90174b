import { useEffect, useRef } from 'preact/hooks';
import type { Service } from './state.ts';
import { Failure, h, iconUrl, useAct } from './ui.ts';

export function SignIn({ service, why, how }: { service: Service; why: string; how: string }) {
  const act = useAct();
  const token = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Sign in · Plant Store';
    token.current?.focus();
  }, []);
  const signIn = (event: SubmitEvent) => {
    event.preventDefault();
    act.run(() => service.signIn({ token: token.current?.value ?? '' }));
  };
  const form = h(
    'form',
    { onSubmit: signIn },
    h('img', { src: iconUrl, alt: '', width: 40, height: 40 }),
    h('h1', {}, 'Plant Store'),
    h('label', { for: 'token' }, 'Operator token'),
    h('input', {
      ref: token,
      id: 'token',
      type: 'password',
      required: true,
      autoComplete: 'current-password',
      'aria-describedby': 'token-help',
    }),
    h('button', { class: 'main' }, 'Sign in'),
    h(Failure, { error: act.error ?? (why === '' ? undefined : new Error(why)) }),
    h('p', { id: 'token-help', class: 'quiet' }, withCode(how)),
  );
  return h('main', { class: 'sign-in' }, form);
}

/** Shows each text in quotes as code. */
function withCode(text: string) {
  return text.split('"').map((part, index) => (index % 2 ? h('code', {}, part) : part));
}

interface LinkSignInProps {
  readonly service: Service;
  readonly link: string;
  readonly onDone: () => void;
}

/** Signs in by a link (`plant-store open`). Its secret has left the address already. */
export function LinkSignIn({ service, link, onDone }: LinkSignInProps) {
  useEffect(() => {
    const signingIn = service
      .signIn({ link })
      .catch(({ message }: Error) => service.resume(message));
    void signingIn.then(onDone);
  }, []);
  return h('main', { class: 'sign-in' }, h('p', { role: 'status' }, 'Signing in…'));
}
