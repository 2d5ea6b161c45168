import type { ClientFacts, ClientSetup } from '../core/client-setup.ts'
import type { Codename } from '../core/identity.ts'
import type { Distribution } from '../core/repository.ts'
import type { Layout } from '../files/layout.ts'

/** One of two files that only together say anything: an index, and the signature over it. */
export interface HalfOfPair {
  readonly codename: Codename
  /** Names the pair within its distribution. */
  readonly pair: string
  readonly part: 'index' | 'signature'
  /** Where the file lies in a generation. */
  readonly path: string
}

/** Where a file may lie, in the order in which it is looked for, and whether its name stands for its bytes. */
export interface Place {
  readonly paths: readonly string[]
  readonly forEver: boolean
  readonly half?: HalfOfPair
}

/** The tree that an address names: the live one, or the generation `n` that is kept. */
export interface NamedTree {
  readonly distribution: Distribution
  readonly n: number | undefined
  readonly folder: string
}

/** What a site finds its files with. */
export interface Ground {
  readonly layout: Pick<Layout, 'byHash' | 'publishedFolder' | 'aptPool' | 'apkKeys'>
  /** The tree of `jammy` or `jammy@12`; undefined for anything that is no distribution of this format. */
  tree(segment: string | undefined): NamedTree | undefined
}

/** A package by the name of its file alone. */
export interface NameInFile {
  readonly name: string
  readonly version: string
  readonly arch: string
}

/** Where clients of a format fetch from. Pure: it says where a file would lie, `http/trees.ts` looks and sends. */
export interface Site {
  /** The folder below `/repos` in which its trees and packages lie. */
  readonly folder: string
  /** What its addresses begin with, slash at the end; formats may share one, but none lies below another. */
  readonly root: string
  /** Content types by the end of a path, beside those that all formats share. */
  readonly types: readonly (readonly [pattern: RegExp, type: string])[]
  /** @param segments  of the address below `root`, decoded. @returns undefined for what is no address of this format */
  place(segments: readonly string[], ground: Ground): Place | undefined
  /** What the name of a package's file says; undefined for what is no package of this format. */
  nameIn?(file: string): NameInFile | undefined
  /** True for an address that belongs to every distribution of this format at once. */
  isCommon?(segments: readonly string[]): boolean
  /** The address below the server of a generation that is kept, as clients would name it. */
  generationAddress(distribution: Distribution, n: number): string
}

/** How clients of a format are set up. */
export interface ClientSide {
  /** The kind of key by which they check the index. */
  readonly indexKey: 'openpgp' | 'rsa'
  /** How each client is set up for a distribution; the usual client of that system first. */
  setups(distribution: Distribution, facts: ClientFacts): readonly [ClientSetup, ...ClientSetup[]]
}
