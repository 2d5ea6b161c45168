import { nativeProduct, nativeVersion } from '../../core/native-products.ts'

/** A version at the end of a tag, with what announces a release. */
const VERSION = /(?:^|[^\d._])[._]?(\d+(?:[._]\d+)+(?:[a-z]{1,2}|_?p\d+)?)((?:[._-]?(?:alpha|beta|pre|rc)[._-]?\d*)?)$/i

/**
 * The versions of a product that the tags of its sources name: `openssl-3.0.2`, `OpenSSL_1_1_1k`, `v2.9.14`,
 * `curl-7_88_1`. Tags that name none are left out.
 */
export function versionsOfTags(name: string, tags: readonly string[]): string[] {
  return tags.flatMap(tag => {
    const [, version, pre = ''] = VERSION.exec(tag.slice(0, 200).toLowerCase()) ?? []
    if (version === undefined) return []
    return [nativeVersion(name, `${version.replace(/_(?=p)/, '').replace(/_/g, '.')}${pre}`)]
  })
}

/**
 * An entry of OSS-Fuzz as the tables of native code have it: its ranges are those of commits, its versions are tags.
 * Undefined where it is about another product, or names no version.
 */
export function nativeAffected(
  project: string,
  tags: readonly string[],
): { readonly name: string; readonly versions: readonly string[] } | undefined {
  const name = nativeProduct(project)
  const versions = name === undefined ? [] : [...new Set(versionsOfTags(name, tags))]
  return name === undefined || versions.length === 0 ? undefined : { name, versions }
}
