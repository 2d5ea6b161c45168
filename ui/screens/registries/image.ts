import type { PackageDetail, Reply } from '../../wire.ts'

/** What a version of a registry for images is made of. */
export type Image = Reply<'GET /registries/{name}/packages/{package}/versions/{version}/image'>
export type ImageLayer = Image['layers'][number]

/** The findings that a layer brought: their path begins with its name. */
export const findingsIn = ({ cves }: Pick<PackageDetail, 'cves'>, { name }: Pick<ImageLayer, 'name'>) =>
  cves.filter(({ at }) => at?.path.startsWith(`${name}!`) === true)

/** Who an image runs as, in words. */
export const runsAs = (user: string): string => {
  const [name = ''] = user.split(':')
  return name === '' || name === '0' || name === 'root' ? 'root' : `${user}, not root`
}
