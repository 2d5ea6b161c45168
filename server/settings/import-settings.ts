import { choice, section, text, toggles } from './setting-types.ts'

/** What machines of a distribution are assumed to have when the needs of a package are resolved. */
export const BASES = ['none', 'minbase', 'upstream'] as const

/** Packages that come from other repositories. */
export const imports = section('Imports from other repositories.', {
  base: choice(
    BASES,
    'minbase',
    'What machines have anyway, when the needs of a package are resolved: nothing (they know this repository alone), what every machine of the distribution has, or all of the distribution, whose own repositories they keep.',
  ),
  base_of: text('', 'The same for single distributions, such as bookworm=none jammy=upstream.', {
    pattern: '^$|^ *[a-z0-9][a-z0-9.-]*=(none|minbase|upstream)( +[a-z0-9][a-z0-9.-]*=(none|minbase|upstream))* *$',
    rule: 'empty, or codename=word separated by blanks, where the word is none, minbase or upstream',
  }),
  resolve_uploads: toggles(
    'Distributions for which an upload asks for its missing dependencies to be imported, as a job; one that is not named asks only with resolve=true.',
  ),
})
