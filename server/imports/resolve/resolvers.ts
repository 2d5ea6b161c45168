import type { FormatId } from '../../core/identity.ts'
import { apk } from '../../formats/apk/index.ts'
import { deb } from '../../formats/deb/index.ts'
import { rpm } from '../../formats/rpm/index.ts'
import { apkResolver } from './apk.ts'
import type { Resolver } from './closure.ts'
import { debResolver } from './deb.ts'
import { rpmResolver } from './rpm.ts'

const RESOLVERS: ReadonlyMap<FormatId, Resolver> = new Map([
  [deb.id, debResolver],
  [rpm.id, rpmResolver],
  [apk.id, apkResolver],
])

/** How dependencies of a format are resolved; undefined for a format whose packages are imported one by one. */
export const findResolver = (format: FormatId): Resolver | undefined => RESOLVERS.get(format)
