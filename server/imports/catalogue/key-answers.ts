import { createHash } from 'node:crypto'
import type { TrustedKeys } from '../../signing/trusted-keys.ts'

type Answers = { readonly [Kind in keyof TrustedKeys]: Awaited<ReturnType<TrustedKeys[Kind]>> }

/** What keys said of some bytes. */
export interface KeyAnswer {
  readonly of: string
  readonly answer: Answers[keyof TrustedKeys]
}

function nameOf(kind: keyof TrustedKeys, parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length} `).update(part)
  return `${kind} ${hash.digest('hex')}`
}

const signatures = (list: Parameters<TrustedKeys['rsa']>[1]): Uint8Array[] =>
  list.flatMap(({ keyName, hash, signature }) => [Buffer.from(`${keyName} ${hash}`), signature])

/** Keys whose answers are noted, so that a thread without the keys can be told them. */
export function noting(keys: TrustedKeys): { readonly keys: TrustedKeys; readonly answers: readonly KeyAnswer[] } {
  const answers: KeyAnswer[] = []
  const note = <T extends KeyAnswer['answer']>(of: string, answer: T): T => {
    answers.push({ of, answer })
    return answer
  }
  return {
    answers,
    keys: {
      clearsigned: async document => note(nameOf('clearsigned', [document]), await keys.clearsigned(document)),
      detached: async (bytes, signature) =>
        note(nameOf('detached', [bytes, signature]), await keys.detached(bytes, signature)),
      embedded: async (bytes, joined) => note(nameOf('embedded', [bytes, joined]), await keys.embedded(bytes, joined)),
      rsa: (bytes, list) => note(nameOf('rsa', [bytes, ...signatures(list)]), keys.rsa(bytes, list)),
    },
  }
}

/** Keys that say again what was noted, of the very same bytes; of all others that they are not trusted. */
export function answering(answers: readonly KeyAnswer[]): TrustedKeys {
  const known = new Map(answers.map(({ of, answer }) => [of, answer]))
  // what was noted under the name of a kind is an answer of that kind
  const find = <Kind extends keyof TrustedKeys>(kind: Kind, parts: readonly Uint8Array[]): Answers[Kind] =>
    (known.get(nameOf(kind, parts)) ?? { why: 'it is not what was verified a moment ago' }) as Answers[Kind]
  return {
    clearsigned: document => Promise.resolve(find('clearsigned', [document])),
    detached: (bytes, signature) => Promise.resolve(find('detached', [bytes, signature])),
    embedded: (bytes, joined) => Promise.resolve(find('embedded', [bytes, joined])),
    rsa: (bytes, list) => find('rsa', [bytes, ...signatures(list)]),
  }
}
