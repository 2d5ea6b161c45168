import { isAbsolute, resolve } from 'node:path'
import { fail } from '../../core/errors.ts'
import type { Distribution, SeenRepositories } from '../../core/repository.ts'
import { getFormat } from '../../formats/index.ts'
import { parseTarget } from '../../outbound/target.ts'
import type { Source } from '../source.ts'
import type { NewSource, SourceFields } from './store.ts'

/** What somebody wants of a source. Absent fields follow the distribution, or stay as they are. */
export interface SourceWish {
  readonly name?: string | undefined
  readonly url?: string | undefined
  readonly mirrors?: readonly string[] | undefined
  readonly distribution?: string | undefined
  readonly distributions?: readonly string[] | undefined
  readonly suite?: string | undefined
  readonly components?: readonly string[] | undefined
  readonly architectures?: readonly string[] | undefined
  readonly security?: boolean | undefined
  readonly keys?: readonly string[] | undefined
  readonly signed?: boolean | undefined
  readonly allow_expired?: boolean | undefined
  readonly newest?: number | null | undefined
  readonly enabled?: boolean | undefined
}

const refuse = (why: string): never => fail('bad_import_source', { why })
const SUITE = /^[A-Za-z0-9][A-Za-z0-9._+~/-]{0,120}$/
const WORD = /^[A-Za-z0-9][A-Za-z0-9._+/-]{0,60}$/

/** A base address with a slash at its end, or the path of a directory. @throws bad_import_source, outbound_refused */
function readAddress(text: string): string {
  if (text.includes('$')) refuse(`${text} holds a variable: write the release and the architecture in its place`)
  if (isAbsolute(text)) {
    const path = resolve(text)
    // eslint-disable-next-line no-control-regex -- a path of this machine may not hold them
    return /[\u0000-\u001f\u007f]/.test(path) ? refuse('the path holds control characters') : path
  }
  const url = parseTarget(text)
  if (url.search !== '' || url.hash !== '') refuse(`${url.host}: an address of files has no ? and no #`)
  return url.pathname.endsWith('/') ? url.href : `${url.href}/`
}

function readUrls(url: string, mirrors: readonly string[]): Pick<Source, 'kind' | 'urls'> {
  const urls = [...new Set([url, ...mirrors].map(readAddress))]
  const trees = urls.filter(isAbsolute)
  if (trees.length > 0 && urls.length > 1) refuse('a directory has no mirrors')
  return { kind: trees.length > 0 ? 'tree' : 'http', urls }
}

/** @throws bad_import_source where no signature would be checked at all */
function checkTrust({ signed, kind, urls, format }: Pick<Source, 'signed' | 'kind' | 'urls' | 'format'>): void {
  if (signed) return
  if (getFormat(format).upstream?.verifyPackage === undefined)
    refuse('its packages carry no signature of their own, so that its index has to be signed')
  if (kind === 'http' && urls.some(url => !url.startsWith('https:')))
    refuse('an index without a signature is only read over https')
}

function readWords(words: readonly string[], what: string, pattern: RegExp): readonly string[] {
  for (const word of words) if (!pattern.test(word)) refuse(`${word.slice(0, 80)} is no ${what}`)
  return [...new Set(words)]
}

/** `Our tools (bookworm)` becomes `our-tools-bookworm`. */
const keyOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, 60)

export interface WishContext {
  readonly repositories: SeenRepositories
  /** The names of all keys there are. */
  readonly keys: ReadonlySet<string>
}

function readDistributions(wish: SourceWish, { repositories }: WishContext): readonly Distribution[] | undefined {
  const named = [...(wish.distribution === undefined ? [] : [wish.distribution]), ...(wish.distributions ?? [])]
  if (wish.distribution === undefined && wish.distributions === undefined) return undefined
  return [...new Set(named)].map(codename => repositories.get(codename))
}

function readKeys(names: readonly string[], { keys }: WishContext): readonly string[] {
  const plain = names.map(name => (/^[0-9a-f ]+$/i.test(name) ? name.replaceAll(' ', '').toUpperCase() : name))
  for (const name of plain)
    if (!keys.has(name)) refuse(`the key ${name.slice(0, 120)} is not known here; an admin adds it first`)
  return [...new Set(plain)]
}

/** The fields of a wish that are there. @throws bad_import_source, outbound_refused, unknown_distribution */
export function readChanges(wish: SourceWish, before: Source, context: WishContext): Partial<SourceFields> {
  const distributions = readDistributions(wish, context)
  for (const { format, codename } of distributions ?? [])
    if (format !== before.format) refuse(`${codename} takes packages of another format`)
  const [first = '', ...mirrors] = before.urls
  const place =
    wish.url === undefined && wish.mirrors === undefined
      ? undefined
      : readUrls(wish.url ?? first, wish.mirrors ?? (wish.url === undefined ? mirrors : []))
  if (place !== undefined && place.kind !== before.kind)
    refuse('a source over HTTP does not become a directory, add another one')
  const changes: Partial<SourceFields> = {
    ...(wish.name === undefined ? {} : { label: wish.name }),
    ...(place === undefined ? {} : { urls: place.urls }),
    ...(wish.suite === undefined ? {} : { suite: readWords([wish.suite], 'suite', SUITE)[0] ?? '' }),
    ...(wish.components === undefined ? {} : { components: readWords(wish.components, 'component', WORD) }),
    ...(wish.architectures === undefined ? {} : { archs: readWords(wish.architectures, 'architecture', WORD) }),
    ...(distributions === undefined ? {} : { codenames: distributions.map(({ codename }) => codename) }),
    ...(wish.security === undefined ? {} : { security: wish.security }),
    ...(wish.keys === undefined ? {} : { keys: readKeys(wish.keys, context) }),
    ...(wish.signed === undefined ? {} : { signed: wish.signed }),
    ...(wish.allow_expired === undefined ? {} : { allowExpired: wish.allow_expired }),
    ...(wish.newest === undefined ? {} : { newest: wish.newest ?? undefined }),
    ...(wish.enabled === undefined ? {} : { enabled: wish.enabled }),
  } as Partial<SourceFields>
  checkTrust({ ...before, ...changes })
  return changes
}

/** A whole new source. @throws bad_import_source, outbound_refused, unknown_distribution */
export function readNew(
  { name, url, format, ...wish }: SourceWish & { readonly name: string; readonly url: string; readonly format: string },
  context: WishContext,
): NewSource {
  const reader = getFormat(format).upstream
  if (reader === undefined) return refuse('repositories of this format cannot be read')
  const key = keyOf(name)
  if (key === '' || /^\d+$/.test(key)) refuse('its name needs a letter')
  const distribution = readDistributions(wish, context)?.[0]
  const isFlat = wish.suite?.endsWith('/') === true
  const hasSuites = reader.hasSuites === true
  const suite = hasSuites ? (wish.suite ?? distribution?.codename) : undefined
  if (hasSuites && suite === undefined) refuse('a suite or a distribution is needed')
  const archs = wish.architectures ?? distribution?.archs ?? refuse('architectures or a distribution are needed')
  const blank: Source = {
    ...readUrls(url, wish.mirrors ?? []),
    id: 0,
    key,
    label: name,
    format,
    ...(suite === undefined ? {} : { suite }),
    components: hasSuites && !isFlat ? (wish.components ?? ['main']) : [],
    archs,
    codenames: [],
    security: false,
    keys: [],
    signed: true,
    allowExpired: false,
    enabled: true,
    builtin: false,
    retired: false,
  }
  const { id: _id, builtin: _builtin, retired: _retired, ...rest } = blank
  return {
    ...rest,
    ...readChanges({ ...wish, suite, components: blank.components, architectures: archs }, blank, context),
  }
}
