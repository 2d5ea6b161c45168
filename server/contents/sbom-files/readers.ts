import type { Reader } from '../reader.ts'
import { cycloneDxJson, cycloneDxXml } from './cyclonedx.ts'
import { spdx } from './spdx.ts'

/** Bills of materials that lie in packages: CycloneDX and SPDX. */
export const sbomFileReaders: readonly Reader[] = [cycloneDxJson, cycloneDxXml, spdx]
