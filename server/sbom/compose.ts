import type { ContentsOf } from '../contents/contents.ts'
import type { Repositories } from '../core/repository.ts'
import type { Db } from '../db/db.ts'
import { getFormat } from '../formats/index.ts'
import type { Clock } from '../lib/clock.ts'
import { createBills, type Bills } from './bills.ts'

export interface SbomNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly repositories: Pick<Repositories, 'get'>
  readonly contents: ContentsOf
  /** The version of this program, for the documents. */
  readonly version: string
}

/** Bills of materials over the catalogue and what packages carry. */
export function composeSbom({ db, clock, repositories, contents, version }: SbomNeeds): { readonly bills: Bills } {
  return { bills: createBills({ db, clock, contents, formats: getFormat, repositories, tool: version }) }
}
