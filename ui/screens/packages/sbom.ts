import { sentence } from '../../api.ts'
import { download } from '../../download.ts'
import { toast } from '../../toasts.svelte.ts'
import type { PackageDetail } from '../../wire.ts'

/** Saves the bill of materials of one version, and says how that went. */
export async function saveSbom(one: PackageDetail, format: 'cyclonedx' | 'spdx'): Promise<void> {
  const { name, version, distribution, arch } = one
  try {
    const file = await download(
      'GET /sbom/{name}/{version}',
      { params: { name, version }, query: { format, distribution, arch } },
      `${name}.${format}.json`,
    )
    toast('good', `${file} is saved`)
  } catch (error) {
    toast('bad', 'No bill of materials was saved', sentence(error))
  }
}
