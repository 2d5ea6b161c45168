import type { VersionPlace } from '../../catalog/queries/versions.ts'
import { needScope, type Principal } from '../../core/access.ts'
import { isRefusal, type AppError, type ErrorCode } from '../../core/errors.ts'
import type { PackageRef } from '../../core/identity.ts'
import type { SeenRepositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Queryable } from '../../db/db.ts'
import { findEach, findOne, type Found } from '../../review/find-version.ts'

/** One or more. */
export type Some<T> = readonly [T, ...T[]]

/** A package that an act on several left as it was. */
export interface Refused {
  readonly distribution: string
  readonly arch: string
  readonly code: ErrorCode
  readonly error: string
}

/** Asked in the query or in the body: every package of the version. */
export interface Every {
  readonly all?: boolean
}

export function some<T>([first, ...others]: readonly T[]): Some<T> {
  if (first === undefined) throw new Error('a version without a package')
  return [first, ...others]
}

export const asksForAll = (...said: readonly Every[]): boolean => said.some(({ all }) => all === true)

/**
 * The packages that a change concerns: one, or with `all` each that the version has where the caller may look.
 * @throws unknown_distribution, package_not_found, version_not_found, ambiguous_version, outside_distribution where a
 * token may change only some of them
 */
export async function targetsOf(
  { db, repositories }: { readonly db: Queryable; readonly repositories: Pick<SeenRepositories, 'get'> },
  which: VersionPlace,
  { who, viewer, all }: { readonly who: Pick<Principal, 'scope'>; readonly viewer: Viewer; readonly all: boolean },
): Promise<Some<Found>> {
  if (which.distribution !== undefined) repositories.get(which.distribution)
  const how = 'distribution and arch name one, all=true means each'
  const found = all ? await findEach(db, viewer, which) : [await findOne(db, viewer, which, how)]
  for (const { ref } of found) needScope(who, ref.codename)
  return some(found)
}

export const refusedOf = ({ codename, arch }: PackageRef, { code, message }: AppError): Refused => ({
  distribution: codename,
  arch,
  code,
  error: message,
})

/**
 * Acts on one package after the other. A refusal concerns its package alone, as the others may have changed already.
 * @throws the first refusal when every package was refused
 */
export async function actOnEach<T>(
  found: Some<Found>,
  act: (one: Found) => Promise<T>,
): Promise<{ readonly done: Some<T>; readonly errors: readonly Refused[] }> {
  const done: T[] = []
  const errors: Refused[] = []
  let refusal: unknown
  for (const one of found) {
    try {
      done.push(await act(one))
    } catch (error) {
      if (!isRefusal(error)) throw error
      refusal ??= error
      errors.push(refusedOf(one.ref, error))
    }
  }
  if (done.length === 0) throw refusal
  return { done: some(done), errors }
}
