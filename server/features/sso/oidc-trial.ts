import { fail } from '../../core/errors.ts'
import { OidcFault, type OidcCard, type OidcProvider, type OidcSettings } from '../../directory/oidc.ts'
import { SETTINGS } from '../../settings/schema.ts'
import { isTree, overlay, type Tree } from '../../settings/tree.ts'

/**
 * Fetches a provider's metadata with a form laid over the saved settings. Sends no secret. @throws oidc_failed,
 * unknown_setting, bad_setting
 */
export async function tryOidc(
  provider: Pick<OidcProvider, 'discover'>,
  saved: OidcSettings,
  form: Tree,
): Promise<OidcCard> {
  const settings = overlay(
    SETTINGS.properties.oidc,
    saved as Tree,
    isTree(form.oidc) ? form.oidc : form,
    'oidc',
  ) as OidcSettings
  try {
    return await provider.discover(settings)
  } catch (error) {
    if (!(error instanceof OidcFault)) throw error
    return fail(
      'oidc_failed',
      { issuer: settings.issuer === '' ? 'oidc.issuer' : settings.issuer, why: error.why.replace(/\.$/, '') },
      error,
    )
  }
}
