import { choice, HOSTS, int, section, text, toggles } from './setting-types.ts'

const PROXY = {
  pattern: '^$|^http://[A-Za-z0-9_.\\-\\[\\]:]+/?$',
  rule: 'empty, or the address of an HTTP proxy without user name and password, such as http://proxy.example:3128',
}

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
  max_kb_per_second: int(0, [0, 10_000_000], 'Everything that is fetched together takes so much; 0: no limit.', 'KB/s'),
  proxy_url: text('', 'HTTP proxy that repositories are fetched through. Empty: none.', PROXY),
  proxy_user: text('', 'User name at the proxy.', { maxLength: 200 }),
  proxy_password: text('', 'Password at the proxy.', { secret: true, maxLength: 200 }),
  proxy_except: text('', 'Hosts and domains that are reached without the proxy, separated by commas.', { ...HOSTS }),
})
