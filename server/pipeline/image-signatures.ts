import { readFile } from 'node:fs/promises'
import { listFactsAbout, listWholesOf, type About } from '../catalog/queries/image-signatures.ts'
import {
  attestedSentence,
  signedSentence,
  waitsSentence,
  type AttestedWord,
  type SignedWord,
} from '../core/signature-words.ts'
import type { Report } from '../core/report.ts'
import type { Queryable } from '../db/db.ts'
import type { Pool } from '../files/pool.ts'
import type { SignatureFile, SignedBeside } from '../formats/format.ts'
import { Malformed } from '../lib/limited.ts'
import { isSignedBy } from '../signing/cosign/pem-key.ts'
import { MAX_PAYLOAD, readStatement, type Held, type Statement } from '../signing/cosign/statement.ts'
import type { ImageKeys, NamedPemKey } from '../signing/image-keys.ts'
import type { Subject } from './subject.ts'

export interface ImageSignatureDeps {
  readonly db: Queryable
  readonly pool: Pick<Pool, 'locate'>
  readonly imageKeys: Pick<ImageKeys, 'trustedIn'>
}

/** Of one image; those that come behind are not looked at, and said so. */
const MOST_SIGNATURES = 100
const MOST_ATTESTED = 5

/** What is known of the signatures of one version. */
interface Looked {
  readonly word: SignedWord
  readonly attested: readonly AttestedWord[]
}

/** The best is told: what tells least comes last. */
const RANKS: readonly SignedWord['is'][] = ['signed', 'unknown_key', 'certificate', 'unread', 'none']
const better = (a: SignedWord, b: SignedWord): SignedWord => (RANKS.indexOf(b.is) < RANKS.indexOf(a.is) ? b : a)

const unread = (why: string): Looked => ({ word: { is: 'unread', why }, attested: [] })
const NONE: Looked = { word: { is: 'none' }, attested: [] }

/** Compares a statement with the keys. */
function compare(statement: Statement, keys: readonly NamedPemKey[]): Looked {
  const { kind, isAbout, signed, signatures, hasCertificate, predicate = '' } = statement
  if (!isAbout) return unread('it is about something else')
  const by = keys.find(key => signatures.some(signature => isSignedBy(key, signed, signature)))
  if (kind === 'attestation')
    return by === undefined
      ? NONE
      : { ...NONE, attested: [{ by: { name: by.name, fingerprint: by.fingerprint }, predicate }] }
  if (by !== undefined)
    return { word: { is: 'signed', by: { name: by.name, fingerprint: by.fingerprint } }, attested: [] }
  return { word: { is: hasCertificate ? 'certificate' : 'unknown_key' }, attested: [] }
}

/** What one file says. Never throws for what is in it. */
async function lookInto(
  file: SignatureFile,
  image: Held['image'],
  { pool, keys }: Pick<ImageSignatureDeps, 'pool'> & { readonly keys: readonly NamedPemKey[] },
): Promise<Looked> {
  const { digest, size, mediaType, annotations } = file
  if (size > MAX_PAYLOAD) return unread('it is larger than 1 MiB')
  const [algorithm, hex] = digest.split(':')
  if (algorithm !== 'sha256' || hex === undefined) return unread('its digest is not SHA-256')
  let bytes: Buffer
  try {
    bytes = await readFile(await pool.locate(hex as Parameters<Pool['locate']>[0]))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return unread('its bytes are not here')
  }
  try {
    const statement = readStatement({ mediaType, annotations, bytes, image })
    return statement === undefined ? NONE : compare(statement, keys)
  } catch (error) {
    if (error instanceof Malformed) return unread(error.why)
    throw error
  }
}

/** What is known of the signatures of one version itself. */
async function lookAt(
  deps: ImageSignatureDeps,
  {
    about,
    signing,
    keys,
  }: { readonly about: About; readonly signing: SignedBeside<unknown>; readonly keys: readonly NamedPemKey[] },
  readManifest: () => Promise<Buffer>,
): Promise<Looked> {
  const tags = signing.tagsOf(about.version)
  const facts = await listFactsAbout(deps.db, about, { tags, most: MOST_SIGNATURES + 1 })
  const files = facts.flatMap(one => signing.filesOf(one))
  if (files.length === 0) return NONE
  const image = { digest: about.version, manifest: await readManifest() }
  let looked: Looked = NONE
  for (const file of files.slice(0, MOST_SIGNATURES)) {
    const { word, attested } = await lookInto(file, image, { ...deps, keys })
    looked = { word: better(looked.word, word), attested: [...looked.attested, ...attested] }
  }
  return files.length > MOST_SIGNATURES
    ? { ...looked, word: better(looked.word, { is: 'unread', why: `it has more than ${MOST_SIGNATURES} signatures` }) }
    : looked
}

/** The same, or what a signed index says that names it. */
async function lookUp(
  deps: ImageSignatureDeps,
  about: About,
  asked: Pick<Subject, 'file'> & { readonly signing: SignedBeside<unknown> },
): Promise<Looked> {
  const { file, signing } = asked
  const keys = await deps.imageKeys.trustedIn(about.codename)
  const own = await lookAt(deps, { about, signing, keys }, async () => file.bytes ?? readFile(file.path))
  if (own.word.is === 'signed') return own
  for (const index of await listWholesOf(deps.db, about)) {
    const hex = index.slice(index.indexOf(':') + 1) as Parameters<Pool['locate']>[0]
    const { word } = await lookAt(deps, { about: { ...about, version: index }, signing, keys }, async () =>
      readFile(await deps.pool.locate(hex)),
    )
    if (word.is === 'signed') return { ...own, word: { ...word, index } }
  }
  return own
}

const VERDICTS: Readonly<Record<SignedWord['is'], string>> = {
  signed: 'signed',
  unknown_key: 'unknown_key',
  certificate: 'not_verified',
  unread: 'not_verified',
  none: 'not_signed',
}

/** What is known of the signatures of a version, and what the rule of its registry makes of that. */
export type LookUpImageSignature = (
  subject: Pick<Subject, 'file' | 'format' | 'distribution' | 'inspected'>,
  signing: SignedBeside<unknown>,
  signal: AbortSignal,
) => Promise<Report>

/**
 * The signature step for a version whose signatures are versions of their own, as cosign makes them. They are compared
 * with the keys that an admin trusts. Certificates and transparency logs are not: there is no root of trust for them
 * here.
 */
export function createImageSignature(deps: ImageSignatureDeps): LookUpImageSignature {
  return async ({ file, format, distribution, inspected }, signing, signal) => {
    const { identity, facts } = await inspected(signal)
    const { name, version } = identity
    const about = { format: format.id, codename: distribution.codename, name, version }
    const { word, attested } = await lookUp(deps, about, { file, signing })
    const rule = distribution.registry?.requireSignature ?? 'none'
    const asked = word.is !== 'signed' && signing.isSubject(facts) ? rule : 'none'
    const said = [
      signedSentence(word),
      ...[...new Set(attested.map(attestedSentence))].slice(0, MOST_ATTESTED),
      ...(asked === 'none' ? [] : [waitsSentence(asked)]),
    ].join(' ')
    const base = { step: 'signature', verdict: VERDICTS[word.is], said } as const
    if (asked === 'block') return { ...base, outcome: 'failed', quarantine: true }
    if (asked === 'review') return { ...base, outcome: 'warned', holds: true }
    return { ...base, outcome: 'ok' }
  }
}
