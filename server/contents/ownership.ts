import type { Component } from './component.ts'
import { isOthersPlace } from './places.ts'

/** What is known of a package that decides whose its files are. */
export interface Owner {
  /**
   * What the loaded data of the distribution know: its source in this very version, or the source alone. Absent where
   * they know neither: then nobody vouches for it.
   */
  readonly known?: 'version' | 'source' | undefined
  readonly sourceVersion: string
  /** Sources of the distribution that were built in. */
  readonly builtUsing: readonly { readonly name: string; readonly version: string }[]
}

/** A package that nobody vouches for. */
export const NOBODYS: Owner = { sourceVersion: '', builtUsing: [] }

/** `2:1.16.0+dfsg-3` is upstream's `1.16.0`. */
const upstreamOf = (version: string): string =>
  version
    .replace(/^\d+:/, '')
    .replace(/-[^-]*$/, '')
    .replace(/[+~](?:dfsg|ds|cs|repack|really|git|b\d).*$/, '')

/** Go's own version stands in `Built-Using`; distributions repair it without a new number. */
const isBuiltWithGo = ({ builtUsing }: Owner): boolean => builtUsing.some(({ name }) => /^golang-\d/.test(name))

/** Rust's compiler stands there, too, beside the sources of the crates. */
const isBuiltWithRust = ({ builtUsing }: Owner): boolean => builtUsing.some(({ name }) => /^rustc(?:-|$)/.test(name))

/** Whether the distribution answers for a file there that was not opened: by its advisories, or by `Built-Using`. */
export function isOwnPlace(path: string, owner: Owner): boolean {
  return (owner.known === 'version' || isBuiltWithGo(owner) || isBuiltWithRust(owner)) && !isOthersPlace(path)
}

/**
 * Whether a component is the distribution's own. Of a package whose version its data know, everything in its places is;
 * of a rebuilt one, what the package itself is: its own version, where the distribution puts it.
 */
export function isOwn(component: Component, owner: Owner): boolean {
  const { path, purl, version, packaged } = component
  if (isOthersPlace(path)) return false
  if (owner.known === 'version') return true
  if (purl.startsWith('pkg:golang/stdlib@')) return isBuiltWithGo(owner)
  if (owner.known !== 'source' || version === undefined) return false
  const upstream = upstreamOf(owner.sourceVersion)
  // `1.2.13.dfsg`, `17.0.21.1+2`: what programs tell of themselves is the beginning
  if (purl.startsWith('pkg:generic/') && upstream.startsWith(version))
    return /^(?:$|[+~-]|\.[a-z])/.test(upstream.slice(version.length))
  return packaged === true && version === upstream
}
