import type { Reader } from '../reader.ts'
import { gemFound } from './gem-found.ts'

// gems/rack-2.2.3/lib/rack.rb, gems/nokogiri-1.15.0-x86_64-linux/lib/nokogiri.rb
const INSIDE = /^((?:.*\/)?)gems\/((?:([A-Za-z0-9._-]+?)-(\d[0-9A-Za-z.]*))(?:-([A-Za-z0-9._-]+))?)\/lib\/[^/]+\.rb$/

/**
 * A gem whose code is there and whose specification is not: somebody copied the folder. Its name says which one it is.
 * What bundler takes from a repository has a commit in its place and is not meant.
 */
export const gemFolder: Reader = {
  id: 'gem-folder',
  wants: ({ path }) => INSIDE.test(path) && !path.includes('bundler/gems/'),
  read: async ({ path }) => {
    const [, base = '', folder = '', name = '', version = '', platform = ''] = INSIDE.exec(path) ?? []
    const specification = (below: string): string => `${base}specifications/${below}${folder}.gemspec`
    const about = { presence: 'shipped', rule: 'gem-folder', confidence: 'probable' } as const
    return {
      found: gemFound(name, version, platform, about).map(found => ({
        ...found,
        path: `${base}gems/${folder}`,
        unless: [specification(''), specification('default/')],
      })),
    }
  },
}
