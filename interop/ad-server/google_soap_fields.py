"""Members of the types of SOAP v202511 that the adapter writes, in the order of their schema.

Read in googleads/googleads-php-lib (src/Google/AdsApi/AdManager/v202511 at 7a1ae08), whose classes are generated from the
WSDL, inherited members first. Members that are lists stand for one of their elements.
"""

CREATIVE = [
    "advertiserId", "id", "name", "size", "previewUrl", "policyLabels", "appliedLabels", "lastModifiedDateTime",
    "customFieldValues", "thirdPartyDataDeclaration", "thirdPartyDataDeclarationStatus", "adBadgingEnabled",
    "selfDeclaredEuropeanUnionPoliticalContent",
]

LINE_ITEM_SUMMARY = [
    "orderId", "id", "name", "externalId", "orderName", "startDateTime", "startDateTimeType", "endDateTime",
    "autoExtensionDays", "unlimitedEndDateTime", "creativeRotationType", "deliveryRateType", "deliveryForecastSource",
    "customPacingCurve", "roadblockingType", "skippableAdType", "frequencyCaps", "lineItemType", "priority",
    "costPerUnit", "valueCostPerUnit", "costType", "discountType", "discount", "contractedUnitsBought",
    "creativePlaceholders", "activityAssociations", "environmentType", "allowedFormats", "companionDeliveryOption",
    "allowOverbook", "skipInventoryCheck", "skipCrossSellingRuleWarningChecks", "reserveAtCreation", "stats",
    "deliveryIndicator", "deliveryData", "budget", "status", "reservationStatus", "isArchived", "webPropertyCode",
    "appliedLabels", "effectiveAppliedLabels", "disableSameAdvertiserCompetitiveExclusion", "lastModifiedByApp",
    "notes", "competitiveConstraintScope", "lastModifiedDateTime", "creationDateTime", "customFieldValues",
    "isMissingCreatives", "programmaticCreativeSource", "thirdPartyMeasurementSettings", "youtubeKidsRestricted",
    "videoMaxDuration", "primaryGoal", "secondaryGoals", "grpSettings", "dealInfo", "viewabilityProviderCompanyIds",
    "childContentEligibility", "customVastExtension", "repeatedCreativeServingEnabled",
]

# Members of each type; what is no type of ours has a text.
FIELDS = {
    "ImageRedirectCreative": CREATIVE
    + ["destinationUrl", "destinationUrlType", "imageUrl", "altText", "thirdPartyImpressionTrackingUrls"],
    "ThirdPartyCreative": CREATIVE
    + ["snippet", "expandedSnippet", "sslScanResult", "sslManualOverride", "lockedOrientation",
       "isSafeFrameCompatible", "thirdPartyImpressionTrackingUrls", "ampRedirectUrl"],
    "Size": ["width", "height", "isAspectRatio"],
    "LineItemCreativeAssociation": [
        "lineItemId", "creativeId", "creativeSetId", "manualCreativeRotationWeight",
        "sequentialCreativeRotationIndex", "startDateTime", "startDateTimeType", "endDateTime", "destinationUrl",
        "sizes", "status", "stats", "lastModifiedDateTime", "targetingName",
    ],
    "ActivateLineItemCreativeAssociations": [],
    "DeactivateLineItemCreativeAssociations": [],
    "Statement": ["query", "values"],
    "ProspectiveLineItem": ["lineItem", "proposalLineItem", "advertiserId"],
    "AvailabilityForecastOptions": [
        "includeTargetingCriteriaBreakdown", "includeContendingLineItems", "breakdown",
    ],
    "LineItem": LINE_ITEM_SUMMARY + ["targeting", "creativeTargetings"],
    "DateTime": ["date", "hour", "minute", "second", "timeZoneId"],
    "Date": ["year", "month", "day"],
    "Money": ["currencyCode", "microAmount"],
    "Goal": ["goalType", "unitType", "units"],
    "FrequencyCap": ["maxImpressions", "numTimeUnits", "timeUnit"],
    "CreativePlaceholder": [
        "size", "creativeTemplateId", "companions", "appliedLabels", "effectiveAppliedLabels",
        "expectedCreativeCount", "creativeSizeType", "targetingName", "isAmpOnly",
    ],
    "Targeting": [
        "geoTargeting", "inventoryTargeting", "dayPartTargeting", "dateTimeRangeTargeting", "technologyTargeting",
        "customTargeting", "userDomainTargeting", "contentTargeting", "videoPositionTargeting",
        "mobileApplicationTargeting", "buyerUserListTargeting", "inventoryUrlTargeting", "verticalTargeting",
        "contentLabelTargeting", "requestPlatformTargeting", "inventorySizeTargeting",
        "publisherProvidedSignalsTargeting",
    ],
    "GeoTargeting": ["targetedLocations", "excludedLocations"],
    "Location": ["id", "type", "canonicalParentId", "displayName"],
    "InventoryTargeting": ["targetedAdUnits", "excludedAdUnits", "targetedPlacementIds"],
    "AdUnitTargeting": ["adUnitId", "includeDescendants"],
}

# Types of members that are objects; `None` where `xsi:type` has to say it.
TYPES = {
    "createCreatives/creatives": None,
    "createLineItemCreativeAssociations/lineItemCreativeAssociations": "LineItemCreativeAssociation",
    "performLineItemCreativeAssociationAction/lineItemCreativeAssociationAction": None,
    "performLineItemCreativeAssociationAction/filterStatement": "Statement",
    "getAvailabilityForecast/lineItem": "ProspectiveLineItem",
    "getAvailabilityForecast/forecastOptions": "AvailabilityForecastOptions",
    "ProspectiveLineItem/lineItem": "LineItem",
    "ImageRedirectCreative/size": "Size",
    "ThirdPartyCreative/size": "Size",
    "CreativePlaceholder/size": "Size",
    "LineItem/startDateTime": "DateTime",
    "LineItem/endDateTime": "DateTime",
    "DateTime/date": "Date",
    "LineItem/costPerUnit": "Money",
    "LineItem/primaryGoal": "Goal",
    "LineItem/frequencyCaps": "FrequencyCap",
    "LineItem/creativePlaceholders": "CreativePlaceholder",
    "LineItem/targeting": "Targeting",
    "Targeting/geoTargeting": "GeoTargeting",
    "Targeting/inventoryTargeting": "InventoryTargeting",
    "GeoTargeting/targetedLocations": "Location",
    "GeoTargeting/excludedLocations": "Location",
    "InventoryTargeting/targetedAdUnits": "AdUnitTargeting",
}

# Arguments of each operation, in their order.
OPERATIONS = {
    "createCreatives": ["creatives"],
    "createLineItemCreativeAssociations": ["lineItemCreativeAssociations"],
    "performLineItemCreativeAssociationAction": ["lineItemCreativeAssociationAction", "filterStatement"],
    "getAvailabilityForecast": ["lineItem", "forecastOptions"],
}


def judge(element, kind, instance, local):
    """Raises ValueError for what the type of an element does not have, or has in another order."""
    known = OPERATIONS.get(kind) or FIELDS[kind]
    place = 0
    for child in element:
        name = local(child.tag)
        if name not in known[place:]:
            raise ValueError(f"{kind} has no {name} here")
        place = known.index(name)
        path = f"{kind}/{name}"
        if path in TYPES:
            stated = child.get(f"{{{instance}}}type")
            if (TYPES[path] is None) != (stated is not None):
                raise ValueError(f"the type of {path}")
            judge(child, TYPES[path] or stated, instance, local)
        elif len(child):
            raise ValueError(f"{path} is no object")
