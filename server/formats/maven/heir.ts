import { Malformed } from '../../lib/limited.ts'
import type { Format, Heir } from '../format.ts'
import { nameOf, type Coordinates } from './coordinates.ts'
import type { MavenFacts } from './facts.ts'
import { licenceIn, readPom } from './pom.ts'

const parentIn = (parent: Coordinates | undefined): Pick<Heir, 'parent'> =>
  parent === undefined ? {} : { parent: { name: nameOf(parent), version: parent.version } }

/**
 * A pom without licences has those of its parent, and with one none of them.
 * Source: maven-model, MavenModelMerger.mergeModel_Licenses
 */
export const licenceHeir: NonNullable<Format<MavenFacts>['licenceHeir']> = {
  of: ({ parent }) => parentIn(parent),
  read(document) {
    try {
      // its bytes are kept, whatever its encoding
      const pom = readPom(Buffer.from(document, 'latin1'))
      const license = licenceIn(pom)
      return { ...parentIn(pom.parent), ...(license === undefined ? {} : { license }) }
    } catch (error) {
      if (error instanceof Malformed) return undefined
      throw error
    }
  },
}
