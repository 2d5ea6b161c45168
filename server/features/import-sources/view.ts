import type { FormatId } from '../../core/identity.ts'
import { maySee, type Viewer } from '../../core/viewer.ts'
import { isoOrNull } from '../../lib/clock.ts'
import type { SyncState } from '../../imports/source.ts'
import type { KnownSource } from '../../imports/sources/store.ts'
import type { Tested } from '../../imports/sources/test-source.ts'
import { notesOf } from '../../imports/trust/judge.ts'
import type { ImportKey } from '../../imports/trust/key-store.ts'
import type { KeyView, NamedKey, SourceType, SourceView, TestView } from './contract.ts'

/** The word of the API for the format of Debian packages; the others are named as they are. */
const APT = { word: 'apt', format: 'deb' } as const // eslint-disable-line no-restricted-syntax -- the API's own word

export const formatOf = (type: SourceType): FormatId => (type === APT.word ? APT.format : type)
const typeOf = (format: FormatId): SourceType => (format === APT.format ? APT.word : (format as SourceType))

export const namedOf = (labels: ReadonlyMap<string, string>, names: readonly string[]): readonly NamedKey[] =>
  names.map(name => ({ name, label: labels.get(name) ?? null }))

/** A source for people. */
export function sourceView(
  { source, status }: KnownSource,
  {
    labels,
    viewer,
    now,
  }: { readonly labels: ReadonlyMap<string, string>; readonly viewer: Viewer; readonly now: Date },
): SourceView {
  const [url = '', ...mirrors] = source.urls
  const held = { at: status?.at ?? undefined, validUntil: status?.valid_until ?? undefined }
  return {
    id: source.id,
    key: source.key,
    name: source.label,
    type: typeOf(source.format),
    kind: source.kind,
    url,
    mirrors,
    suite: source.suite ?? null,
    components: source.components,
    architectures: source.archs,
    distributions: source.codenames.filter(codename => maySee(viewer, codename)),
    security: source.security,
    keys: namedOf(labels, source.keys),
    signed: source.signed,
    allow_expired: source.allowExpired,
    newest: source.newest ?? null,
    enabled: source.enabled,
    builtin: source.builtin,
    retired: source.retired,
    // written by this program only
    state: (status?.state ?? 'never') as SyncState,
    said: status?.said ?? null,
    notes: status?.state === 'ok' ? notesOf(held, source, now) : [],
    packages: status?.packages ?? 0,
    made_at: isoOrNull(status?.at ?? null),
    valid_until: isoOrNull(status?.valid_until ?? null),
    signed_by: namedOf(labels, status?.signed_by ?? []),
    mirror: status?.mirror ?? null,
    tried_at: isoOrNull(status?.tried_at ?? null),
    synced_at: isoOrNull(status?.synced_at ?? null),
  }
}

/** What a test found, for people. */
export function testView({ roots, ...tested }: Tested, labels: ReadonlyMap<string, string>): TestView {
  return {
    ...tested,
    roots: roots.map(root => ({
      path: root.path,
      sha256: root.sha256,
      made_at: isoOrNull(root.at ?? null),
      valid_until: isoOrNull(root.validUntil ?? null),
      origin: root.origin ?? null,
      label: root.label ?? null,
      suite: root.suite ?? null,
      codename: root.codename ?? null,
      signed_by: namedOf(labels, root.signedBy),
    })),
  }
}

/** A key for people. @param sources  all there are */
export const keyView = (key: ImportKey, sources: readonly KnownSource[]): KeyView => ({
  name: key.name,
  kind: key.kind,
  label: key.label,
  public_key: key.text,
  expires_at: isoOrNull(key.expiresAt ?? null),
  accepted_until: isoOrNull(key.acceptedUntil ?? null),
  builtin: key.builtin,
  added_by: key.addedBy ?? null,
  added_at: key.addedAt.toISOString(),
  sources: sources.filter(({ source }) => source.keys.includes(key.name)).map(({ source }) => source.key),
})
