import { holds, type Provided, type Relation } from '../../core/relation.ts'
import { compareSemver } from '../../core/versions/semver.ts'
import { isInRange } from './version.ts'

/** True when `have` satisfies `need`. With `=` the version of a need is a range as npm writes it. */
export function satisfies(have: Provided, need: Relation): boolean {
  if (have.name !== need.name) return false
  if (need.op === undefined || need.version === undefined) return true
  if (have.version === undefined) return false
  return need.op === '='
    ? isInRange(have.version, need.version)
    : holds(compareSemver(have.version, need.version), need.op)
}
