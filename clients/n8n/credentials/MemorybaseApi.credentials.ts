import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, Icon, INodeProperties } from 'n8n-workflow';

export class MemorybaseApi implements ICredentialType {
  name = 'memorybaseApi';

  displayName = 'Memorybase API';

  icon: Icon = { light: 'file:../icons/memorybase.svg', dark: 'file:../icons/memorybase.dark.svg' };

  documentationUrl = 'https://github.com/memorybase/memorybase';

  properties: INodeProperties[] = [
    {
      displayName: 'Address',
      name: 'url',
      type: 'string',
      required: true,
      default: 'http://localhost:8000',
      placeholder: 'http://memorybase.example:8000',
      description: 'The address of memorybase\'s API, as n8n reaches it',
    },
    {
      displayName: 'API Key',
      name: 'apiKey',
      type: 'string',
      typeOptions: { password: true },
      required: true,
      default: '',
      description: 'A key with the scopes read and write',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey}}' } },
  };

  test: ICredentialTestRequest = {
    request: {
      baseURL: '={{ $credentials.url.trim().replace(/\\/+$/, "").replace(/\\/v1$/, "") }}/v1',
      url: '/flows',
      qs: { size: 1 },
    },
  };
}
