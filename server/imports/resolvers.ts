import type { FormatId } from '../core/identity.ts'
import { deb } from '../formats/deb/index.ts'
import type { Resolver } from './resolve/closure.ts'
import { debResolver } from './resolve/deb.ts'

const RESOLVERS: ReadonlyMap<FormatId, Resolver> = new Map([[deb.id, debResolver]])

/** How packages of a format depend on each other; undefined where that is not known here. */
export const resolverOf = (format: FormatId): Resolver | undefined => RESOLVERS.get(format)
