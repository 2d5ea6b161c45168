import { DIGEST } from '../../formats/oci/descriptor.ts'
import { isName, isTag } from '../../formats/oci/names.ts'
import { OciRefusal, refuseAs } from './answers.ts'

/** What an address below a registry names. */
export type Route =
  | { readonly kind: 'blob'; readonly name: string; readonly digest: string }
  /** `id` is absent for the address where uploads begin. */
  | { readonly kind: 'upload'; readonly name: string; readonly id?: string }
  | { readonly kind: 'manifest'; readonly name: string; readonly reference: string }
  | { readonly kind: 'tags'; readonly name: string }
  | { readonly kind: 'referrers'; readonly name: string; readonly digest: string }

/** The name in an address as a scope needs it, also where the rest of it is wrong. */
export function nameIn(segments: readonly string[]): string | undefined {
  for (let at = segments.length - 1; at > 0; at--)
    if (['blobs', 'manifests', 'tags', 'referrers'].includes(segments[at] ?? '')) return segments.slice(0, at).join('/')
  return undefined
}

function needName(segments: readonly string[]): string {
  const name = segments.join('/')
  if (!isName(name))
    refuseAs(
      400,
      'NAME_INVALID',
      'The name is not allowed: segments of lower-case letters and digits, joined by ".", "_", "__" or "-", at most 200 characters.',
    )
  return name
}

/** @throws OciRefusal DIGEST_INVALID */
export function needDigest(text: string): string {
  if (!DIGEST.test(text))
    refuseAs(
      400,
      'DIGEST_INVALID',
      'The digest is not allowed: it must be sha256 or sha512, a colon, and lower-case hex.',
    )
  return text
}

function needReference(text: string): string {
  if (text.includes(':')) return needDigest(text)
  if (!isTag(text))
    refuseAs(
      400,
      'MANIFEST_INVALID',
      'The tag is not allowed: at most 128 letters, digits, ".", "_" and "-", and neither "." nor "-" first.',
    )
  return text
}

/**
 * Source: distribution specification 1.1, "Endpoints". @returns undefined for what is no address of it
 * @throws OciRefusal NAME_INVALID, DIGEST_INVALID, MANIFEST_INVALID
 */
export function routeOf(segments: readonly string[]): Route | undefined {
  const [last = '', second = '', third = ''] = segments.toReversed()
  if (third === 'blobs' && second === 'uploads')
    return { kind: 'upload', name: needName(segments.slice(0, -3)), ...(last === '' ? {} : { id: last }) }
  if (second === 'blobs' && last === 'uploads') return { kind: 'upload', name: needName(segments.slice(0, -2)) }
  const name = (): string => needName(segments.slice(0, -2))
  switch (second) {
    case 'blobs':
      return { kind: 'blob', name: name(), digest: needDigest(last) }
    case 'manifests':
      return { kind: 'manifest', name: name(), reference: needReference(last) }
    case 'referrers':
      return { kind: 'referrers', name: name(), digest: needDigest(last) }
    case 'tags':
      return last === 'list' ? { kind: 'tags', name: name() } : undefined
    default:
      return undefined
  }
}

/** The name that an address is about, as `routeOf` reads it; undefined for what it refuses, or does not know. */
export function nameAt(segments: readonly string[]): string | undefined {
  try {
    return routeOf(segments)?.name
  } catch (error) {
    if (error instanceof OciRefusal) return undefined
    throw error
  }
}
